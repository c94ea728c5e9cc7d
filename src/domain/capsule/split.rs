//! Cuts Markdown files into pieces to be captured, and finds what became of earlier ones (CAP-IMP).

/// A piece, and the line it starts at (from 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its text, without blank edges.
    pub text: String,
    /// Its first line.
    pub line: usize,
}

/// Cuts a file: at its headings where it has some, at blank lines otherwise (CAP-IMP-3).
pub fn split(file: &str) -> Vec<Piece> {
    let text = file.strip_prefix('\u{feff}').unwrap_or(file);
    let lines: Vec<&str> = text.lines().collect();
    let first = front_matter_lines(&lines);
    let fenced = fenced_lines(&lines);
    let levels: Vec<Option<usize>> = lines
        .iter()
        .enumerate()
        .map(|(index, line)| if index < first || fenced[index] { None } else { heading_level(line) })
        .collect();
    let present: Vec<usize> = levels.iter().flatten().copied().collect();
    let at = match cut_level(&present) {
        Some(level) => (first..lines.len()).filter(|index| levels[*index] == Some(level)).collect(),
        None => (first..lines.len())
            .filter(|index| *index > first && !fenced[*index] && lines[*index - 1].trim().is_empty())
            .collect::<Vec<_>>(),
    };
    let mut bounds = vec![first];
    bounds.extend(at.into_iter().filter(|index| *index > first));
    bounds.push(lines.len());
    bounds.windows(2).filter_map(|window| piece(&lines, window[0], window[1])).collect()
}

/// The smallest level that occurs at least twice, else the smallest there is.
fn cut_level(present: &[usize]) -> Option<usize> {
    let smallest = present.iter().min().copied()?;
    let twice = (1..=6).find(|level| present.iter().filter(|other| *other == level).count() >= 2);
    Some(twice.unwrap_or(smallest))
}

fn piece(lines: &[&str], from: usize, to: usize) -> Option<Piece> {
    let filled = |index: &usize| !lines[*index].trim().is_empty();
    let start = (from..to).find(filled)?;
    let end = (from..to).rev().find(filled)?;
    Some(Piece { text: lines[start..=end].join("\n").trim().to_owned(), line: start + 1 })
}

/// How many lines a closed block of front matter takes at the top.
fn front_matter_lines(lines: &[&str]) -> usize {
    if lines.first().is_none_or(|line| line.trim_end() != "---") {
        return 0;
    }
    lines.iter().skip(1).position(|line| line.trim_end() == "---").map_or(0, |at| at + 2)
}

/// Which lines stand in a code fence, its end included. Its begin may start a piece.
fn fenced_lines(lines: &[&str]) -> Vec<bool> {
    let mut open = false;
    lines
        .iter()
        .map(|line| {
            let mark = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
            let inside = open;
            open ^= mark;
            inside
        })
        .collect()
}

fn heading_level(line: &str) -> Option<usize> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &line[level..];
    ((1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']))).then_some(level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(file: &str) -> Vec<(String, usize)> {
        split(file).into_iter().map(|piece| (piece.text, piece.line)).collect()
    }

    #[test]
    fn cuts_at_the_smallest_level_that_occurs_twice() {
        assert_eq!(
            texts("# Title\nintro line\n\n## Alpha\nring the bell\n\n## Beta\nsystem: bow\n"),
            [
                ("# Title\nintro line".to_owned(), 1),
                ("## Alpha\nring the bell".to_owned(), 4),
                ("## Beta\nsystem: bow".to_owned(), 7)
            ]
        );
    }

    #[test]
    fn front_matter_is_skipped_and_fences_are_opaque() {
        assert_eq!(
            texts("\u{feff}---\na: b\n---\nx\n\n```\n# no heading\n\nstill\n```\n\ny"),
            [("x".to_owned(), 4), ("```\n# no heading\n\nstill\n```".to_owned(), 6), ("y".to_owned(), 12)]
        );
        assert_eq!(texts("---\nnever closed"), [("---\nnever closed".to_owned(), 1)]);
        assert_eq!(texts("\n\n"), []);
    }

    proptest! {
        #[test]
        fn nothing_but_blank_edges_is_lost(file in "(#{1,3} [a-z]+\n|[a-z]+\n|\n){0,20}") {
            let kept: String = split(&file).iter().map(|piece| piece.text.clone() + "\n").collect();
            let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert_eq!(squeeze(&kept), squeeze(&file));
        }
    }
}
