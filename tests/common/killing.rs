//! Processes that die at random moments.

use super::dice::Dice;
use super::server::{Server, kill};
use postgres::Client;
use std::time::{Duration, Instant};

/// The process of a worker, a writer's backend or the postmaster.
fn victim(server: &Server, client: &mut Client, round: usize) -> Option<(&'static str, i32)> {
    let process = |client: &mut Client, sql: &str| -> Option<i32> {
        client.query_opt(sql, &[]).ok().flatten().map(|row| row.get(0))
    };
    match round % 3 {
        0 => {
            let end = Instant::now() + Duration::from_secs(20);
            // It comes and goes; the writer brings it back.
            let worker = "select pid from pg_stat_activity where backend_type = 'memory_engine worker' and datname = 'soak'";
            while Instant::now() < end {
                if let Some(pid) = process(client, worker) {
                    return Some(("worker", pid));
                }
            }
            None
        }
        1 => {
            let writer =
                "select pid from pg_stat_activity where backend_type = 'client backend' and datname = 'soak'
                and pid <> pg_backend_pid() order by backend_start limit 1";
            process(client, writer).map(|pid| ("backend", pid))
        }
        _ => server.postmaster().map(|pid| ("postmaster", pid)),
    }
}

/// Kills at random moments what works in the database `soak`; answers how often workers, backends and postmasters were.
pub fn kill_at_random(server: &Server, rounds: usize) -> [usize; 3] {
    let mut dice = Dice(rounds as u64 + 1);
    let mut killed = [0; 3];
    for round in 0..rounds {
        let mut client = server.connect("soak");
        std::thread::sleep(Duration::from_millis(dice.below(400)));
        let Some((what, process)) = victim(server, &mut client, round) else { continue };
        if !kill(process) {
            continue;
        }
        killed[round % 3] += 1;
        if what == "postmaster" {
            server.start();
        }
        // The next round begins when all of this one are gone.
        while client.batch_execute("select 1").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    killed
}
