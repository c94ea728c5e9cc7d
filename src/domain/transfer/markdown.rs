//! Markdown imports: one memory, its fields in front matter, its content in the text below (IMP-9).

use super::record::{ImportRecord, Place};
use super::{json, nothing, yaml};
use crate::domain::invalid::Invalid;

/// Reads the one record of a Markdown text.
///
/// # Errors
/// Front matter that is no YAML mapping, a field that breaks a rule, and a text without content.
pub(super) fn parse(text: &str) -> Result<ImportRecord, Invalid> {
    let (front, body) = split(text);
    let body = body.trim();
    let json = match front {
        Some((front, above)) => yaml::mapping(front, above)?,
        None => None,
    };
    let json = json.as_deref().unwrap_or("{}");
    let place = Place { record: 1, line: None };
    let fields = json::fields(json).map_err(|refusal| place.refuse(refusal))?;
    if fields.content.is_none() && body.is_empty() {
        return Err(nothing("has no text below its front matter"));
    }
    fields.check(Some(body)).map_err(|refusal| place.refuse(refusal))
}

/// Splits off the block between a leading `---` line and the next one, and tells how many lines precede the block.
///
/// Blank lines may stand before it. Two `---` lines with nothing between them are no block.
fn split(text: &str) -> (Option<(&str, usize)>, &str) {
    let blank: usize =
        text.split_inclusive('\n').take_while(|line| line.trim().is_empty()).map(str::len).sum();
    let mut lines = text.get(blank..).unwrap_or_default().split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| is_rule(line)) else {
        return (None, text);
    };
    let start = blank + first.len();
    let mut end = start;
    for line in lines {
        if is_rule(line) {
            if end == start {
                break;
            }
            let above = text.get(..start).unwrap_or_default().matches('\n').count();
            let front = text.get(start..end).unwrap_or_default();
            return (Some((front, above)), text.get(end + line.len()..).unwrap_or_default());
        }
        end += line.len();
    }
    (None, text)
}

/// Whether a line consists of three hyphens, with nothing but blanks behind them.
fn is_rule(line: &str) -> bool {
    line.trim_end() == "---"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_holds_the_fields_and_the_rest_is_content() {
        let record = parse("---\nname: n\ntree: share/i\ntemporal: 2025-01-01T00:00:00Z\nmeta:\n  k: 1.0\n---\n\n# Title\n\n---\ntext\n").unwrap();
        assert_eq!(record.content, "# Title\n\n---\ntext");
        assert_eq!(record.name.unwrap().as_str(), "n");
        assert_eq!(record.tree.unwrap(), "share/i");
        assert_eq!(record.meta.unwrap().as_str(), r#"{"k":1.0}"#);
        assert!(record.temporal.is_some());
    }

    #[test]
    fn without_a_complete_block_the_whole_text_is_content() {
        for (text, content) in [
            ("\n plain \n", "plain"),
            ("---\nname: n\n", "---\nname: n"),
            ("---\n---\nbody", "---\n---\nbody"),
            ("text\n---\nname: n\n---\n", "text\n---\nname: n\n---"),
            ("----\nname: n\n---\nx", "----\nname: n\n---\nx"),
            ("--- x\nname: n\n---\nx", "--- x\nname: n\n---\nx"),
            (" ---\nname: n\n---\nx", "---\nname: n\n---\nx"),
        ] {
            let record = parse(text).unwrap();
            assert_eq!((record.content.as_str(), record.name), (content, None), "{text:?}");
        }
    }

    #[test]
    fn the_block_may_be_blank_and_its_lines_end_in_any_way() {
        for text in ["---\n\n---\nbody", "---\r\nname: n\r\n---\r\nbody", "\n\n---  \n# note\n---\t\nbody\n"]
        {
            assert_eq!(parse(text).unwrap().content, "body", "{text:?}");
        }
        assert_eq!(parse("---\r\nname: n\r\n---\r\nbody").unwrap().name.unwrap().as_str(), "n");
    }

    #[test]
    fn a_content_field_overrides_the_body() {
        assert_eq!(parse("---\ncontent: c\n---\nbody").unwrap().content, "c");
        assert_eq!(parse("---\ncontent: \" c\\n\"\n---\n").unwrap().content, " c\n");
        assert!(parse("---\ncontent: \"\"\n---\nbody").is_err());
    }

    #[test]
    fn an_empty_body_is_refused() {
        for text in ["", " \n", "---\nname: n\n---\n", "---\nname: n\n---\n\n \n", "---\n\n---\n"] {
            assert_eq!(parse(text).unwrap_err().rule, "IMP-9", "{text:?}");
        }
    }

    #[test]
    fn a_fault_in_the_front_matter_is_told_with_its_line_in_the_text() {
        let refusal = parse("\n---\nname: n\ntree: [\n---\nbody").unwrap_err();
        assert_eq!(refusal.argument, "content");
        assert!(refusal.message.contains("line "), "{refusal}");
        assert!(parse("---\n- a\n---\nbody").is_err());
        assert!(parse("---\nname: .x\n---\nbody").unwrap_err().message.contains("record 1"));
    }
}
