//! `memory_engine`: the memory of AI agents, inside PostgreSQL.
//!
//! A call goes one way: `api` decodes it, `domain` makes it valid or refuses it, `store` runs SQL with valid values
//! only, `api` encodes the answer. `docs/` describes each part.

pub mod domain;
pub mod embed;

mod api;
mod error;
mod guc;
mod provider;
mod store;
mod worker;

use pgrx::prelude::*;

::pgrx::pg_module_magic!();

extension_sql_file!("../sql/000_guard.sql", name = "guard", bootstrap);
extension_sql_file!("../sql/100_tables.sql", name = "tables", requires = ["guard"]);
extension_sql_file!("../sql/110_history.sql", name = "history", requires = ["tables"]);
extension_sql_file!("../sql/120_embedding.sql", name = "embedding_tables", requires = ["tables"]);
extension_sql_file!("../sql/105_access.sql", name = "access", requires = ["tables"]);
extension_sql_file!("../sql/130_search.sql", name = "search_tables", requires = ["tables"]);
extension_sql_file!("../sql/135_lexical.sql", name = "lexical_tables", requires = ["tables"]);
extension_sql_file!(
    "../sql/140_search_aggregate.sql",
    name = "search_aggregate",
    requires = ["search_tables", store::fulltext::bm25_add, store::fulltext::bm25_finish]
);
extension_sql_file!("../sql/140_capsules.sql", name = "capsules", requires = ["tables"]);
extension_sql_file!("../sql/145_erasure.sql", name = "erasure", requires = ["tables"]);
extension_sql_file!(
    "../sql/150_functions.sql",
    name = "functions",
    requires = [
        "tables",
        "access",
        "embedding_tables",
        store::embedding::has_embedding,
        store::macros::iso_millis,
        store::record::record_json,
        store::macros::tree_display
    ]
);
extension_sql_file!(
    "../sql/200_views.sql",
    name = "views",
    requires = [
        "functions",
        "lexical_tables",
        store::readable::readable_trees,
        store::readable::managed_spaces,
        store::readable::home_label
    ]
);
extension_sql_file!("../sql/900_privileges.sql", name = "privileges", finalize);

/// Called when the library is loaded, by the postmaster or by the first call of a backend.
#[pg_guard]
pub extern "C-unwind" fn _PG_init() {
    guc::register();
    // SAFETY: a flag of this process.
    if unsafe { pg_sys::process_shared_preload_libraries_in_progress } {
        worker::register();
        if let Err(reason) = provider::preload() {
            // Everything else works without it; whoever asks for a vector is told again.
            warning!("memory_engine: the local embedding model was not loaded: {reason}");
        }
    }
}
