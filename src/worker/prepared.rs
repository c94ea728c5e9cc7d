//! COMMIT PREPARED publishes what another session wrote long ago: no callback of that session runs, and what it had
//! noted is forgotten. The statement itself wakes the worker.

use super::board::board;
use crate::store::upkeep::soon;
use pgrx::{pg_guard, pg_sys};
use std::ffi::c_char;

static mut NEXT: pg_sys::ProcessUtility_hook_type = None;

/// Puts itself into the chain; called once, while the server starts.
pub fn watch() {
    // SAFETY: the postmaster has one thread; what forks off it inherits the chain.
    unsafe {
        NEXT = pg_sys::ProcessUtility_hook;
        pg_sys::ProcessUtility_hook = Some(process_utility);
    }
}

#[pg_guard]
#[allow(clippy::too_many_arguments, reason = "the server's signature")]
unsafe extern "C-unwind" fn process_utility(
    statement: *mut pg_sys::PlannedStmt,
    text: *const c_char,
    read_only: bool,
    context: pg_sys::ProcessUtilityContext::Type,
    parameters: pg_sys::ParamListInfo,
    environment: *mut pg_sys::QueryEnvironment,
    receiver: *mut pg_sys::DestReceiver,
    completion: *mut pg_sys::QueryCompletion,
) {
    // SAFETY: the server's own arguments, handed on as they came. The statement is read before, for whoever comes
    // behind may free it.
    unsafe {
        let publishes = publishes(statement);
        match NEXT {
            Some(next) => {
                next(statement, text, read_only, context, parameters, environment, receiver, completion)
            }
            None => pg_sys::standard_ProcessUtility(
                statement,
                text,
                read_only,
                context,
                parameters,
                environment,
                receiver,
                completion,
            ),
        }
        if publishes
            && pg_sys::get_extension_oid(c"memory_engine".as_ptr(), true) != pg_sys::Oid::INVALID
            && let Some(board) = board()
        {
            // A prepared transaction is committed in the database it was prepared in.
            let database = pg_sys::MyDatabaseId.to_u32();
            board.look_at(database, soon());
            board.call(database);
        }
    }
}

unsafe fn publishes(statement: *const pg_sys::PlannedStmt) -> bool {
    // SAFETY: the caller passes a statement of the server; its node says what it is.
    unsafe {
        let node = (*statement).utilityStmt;
        if node.is_null() || (*node).type_ != pg_sys::NodeTag::T_TransactionStmt {
            return false;
        }
        (*node.cast::<pg_sys::TransactionStmt>()).kind
            == pg_sys::TransactionStmtKind::TRANS_STMT_COMMIT_PREPARED
    }
}
