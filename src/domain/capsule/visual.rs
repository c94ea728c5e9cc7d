//! Pictures in Mermaid, without a clock (CAP-VIS).

use super::dag::{Graph, Readiness};
use super::export::{Edge, end};
use super::record::id_of;
use super::seal::sha256_hex;
use super::words::Tier;
use std::fmt::Write;

/// A picture: its header, what the second line says of it, and the rest with its hash.
fn picture(header: &str, view: &str, counts: &str, body: &str) -> String {
    format!("{header}\n%% capsules view={view} {counts} body sha256:{}\n{body}", sha256_hex(body.as_bytes()))
}

/// An id that Mermaid takes for one.
fn node(id: &str) -> String {
    id.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '_' }).collect()
}

/// A label that is text and nothing else.
fn label(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '"' => out.push_str("#quot;"),
            '#' | '[' | ']' | '{' | '}' | '(' | ')' | '<' | '>' | '|' | '`' => {
                let _ = write!(out, "#{};", char as u32);
            }
            control if control.is_control() => out.push(' '),
            other => out.push(other),
        }
    }
    out
}

/// What is ready, blocked and done; on a cycle only the cycle (CAP-VIS-2).
pub fn dag(graph: &Graph) -> String {
    let mut body = String::new();
    let arrow = |body: &mut String, from: i64, to: i64| {
        let _ = writeln!(body, "  {} --> {}", node(&id_of(from)), node(&id_of(to)));
    };
    match graph.readiness() {
        Readiness::Cycle { cycle, entangled } => {
            let _ = writeln!(body, "  banner[\"these wait for each other\"]");
            for (index, from) in cycle.iter().enumerate() {
                arrow(&mut body, *from, cycle[(index + 1) % cycle.len()]);
            }
            let counts = format!(
                "nodes={} edges={} cycle={} entangled={}",
                cycle.len(),
                cycle.len(),
                cycle.len(),
                entangled.len()
            );
            picture("graph TD", "dag", &counts, &body)
        }
        Readiness::Ok { ready, blocked, done } => {
            let nodes = ready.len() + blocked.len() + done.len();
            for (class, seqs) in [("ready", ready), ("blocked", blocked), ("done", done)] {
                for seq in seqs {
                    let id = id_of(seq);
                    let _ = writeln!(body, "  {}[\"{id}\"]:::{class}", node(&id));
                }
            }
            let mut edges: Vec<(i64, i64)> = graph
                .blocks
                .iter()
                .filter(|(from, to)| !graph.dead.contains(from) && !graph.dead.contains(to))
                .copied()
                .collect();
            edges.sort_unstable();
            edges.iter().for_each(|(from, to)| arrow(&mut body, *from, *to));
            if nodes > 0 {
                body.push_str(
                    "  classDef ready fill:#dfd\n  classDef blocked fill:#fdd\n  classDef done fill:#ddd\n",
                );
            }
            picture("graph TD", "dag", &format!("nodes={nodes} edges={}", edges.len()), &body)
        }
    }
}

/// Every edge (CAP-VIS-3).
pub fn relations(mut edges: Vec<Edge>) -> String {
    edges.sort_unstable();
    let mut body = String::new();
    for (kind, from, to) in &edges {
        let _ = writeln!(body, "  {} -->|{}| {}", node(&end(*from)), kind.word(), node(&id_of(*to)));
    }
    picture("graph LR", "relations", &format!("edges={}", edges.len()), &body)
}

/// What stands in which tier: number, headline and tier of each (CAP-VIS-4).
pub fn tiers(entries: &[(i64, String, Tier)]) -> String {
    let mut body = String::new();
    for tier in Tier::ALL {
        let of_tier: Vec<_> = entries.iter().filter(|(_, _, of)| of == tier).collect();
        if of_tier.is_empty() {
            continue;
        }
        let _ = writeln!(body, "  subgraph tier_{}", tier.word());
        for (seq, headline, _) in of_tier {
            let id = id_of(*seq);
            let _ = writeln!(body, "    {}[\"{}\"]", node(&id), label(&format!("{id}: {headline}")));
        }
        body.push_str("  end\n");
    }
    picture("flowchart TB", "tiers", &format!("nodes={}", entries.len()), &body)
}

#[cfg(test)]
mod tests {
    use super::super::words::Relation;
    use super::*;

    #[test]
    fn labels_are_text_and_nothing_else() {
        assert_eq!(
            label("say \"hi\" [now] {x}|y\n#`"),
            "say #quot;hi#quot; #91;now#93; #123;x#125;#124;y #35;#96;"
        );
    }

    #[test]
    fn a_cycle_is_all_that_is_drawn() {
        let graph = Graph { blocks: vec![(1, 2), (2, 1), (2, 3)], ..Graph::default() };
        let text = dag(&graph);
        assert!(text.starts_with("graph TD\n%% "), "{text}");
        assert!(text.contains("cycle=2 entangled=3") && text.contains("cap_1 --> cap_2"), "{text}");
        assert!(!text.contains("cap_3"));
    }

    #[test]
    fn the_dead_are_not_drawn_and_the_hash_is_of_the_rest() {
        let graph = Graph { blocks: vec![(1, 2), (3, 2)], dead: [3].into(), ..Graph::default() };
        let text = dag(&graph);
        assert!(text.contains("cap_2[\"cap-2\"]:::ready") || text.contains("cap_2[\"cap-2\"]:::blocked"));
        assert!(!text.contains("cap_3"));
        let (_, rest) = text.split_once("body sha256:").unwrap();
        let (hash, body) = rest.split_once('\n').unwrap();
        assert_eq!(hash, sha256_hex(body.as_bytes()));
    }

    #[test]
    fn an_outcome_is_an_end_too() {
        let text = relations(vec![(Relation::Falsifies, (true, 1), 2)]);
        assert!(text.contains("out_1 -->|falsifies| cap_2"), "{text}");
    }
}
