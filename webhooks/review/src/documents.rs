//! The documents of a YAML or JSON file.

use serde_json::Value;

/// A limit that no file of ours can reach. The parser's own limits for aliases stay in force.
const UNBOUNDED: usize = 1 << 28;

/// The error of [`documents`]. It is one line.
#[derive(Debug, thiserror::Error)]
#[error("not YAML: {problem}")]
pub struct NotYaml {
    /// The number of the document, from 1. Documents without content do not count.
    pub document: usize,
    problem: String,
}

/// Reads the documents of a YAML or JSON file. Those without content are left out. JSON values may follow each other without a separator.
///
/// # Errors
/// The text is not YAML.
pub fn documents(text: &str) -> Result<Vec<Value>, NotYaml> {
    read(text)
        .or_else(|error| stream(text).ok_or(error))
        .map_err(|error| {
            let line = error.location().map_or(0, |location| location.line());
            let message = error.to_string();
            // Remove advice for programmers.
            let advice = ", set DuplicateKeyPolicy in Options if acceptable";
            let problem = message.lines().next().unwrap_or_default();
            NotYaml {
                document: before(text, usize::try_from(line).unwrap_or(usize::MAX)) + 1,
                problem: problem.replace(advice, ""),
            }
        })
}

fn read(text: &str) -> Result<Vec<Value>, serde_saphyr::Error> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_documents: UNBOUNDED,
            max_events: UNBOUNDED,
            max_nodes: UNBOUNDED,
        },
        with_snippet: false,
        // As kubectl: the mode 0644 is 420.
        legacy_octal_numbers: true,
    };
    serde_saphyr::from_multiple_with_options(text.trim_start_matches('\u{feff}'), options)
}

/// The values of a JSON stream.
fn stream(text: &str) -> Option<Vec<Value>> {
    let text = text.trim_start_matches('\u{feff}');
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let values = serde_json::Deserializer::from_str(text).into_iter();
    values.collect::<Result<_, _>>().ok()
}

/// Returns the number of documents before the one with this line.
fn before(text: &str, line: usize) -> usize {
    let mut end = 0;
    let mut marker = 0;
    for line in text.split_inclusive('\n').take(line) {
        if line.starts_with("---") {
            marker = end;
        }
        end += line.len();
    }
    read(&text[..marker]).map_or(0, |documents| documents.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn empty_documents_are_left_out() {
        for text in ["", "---\n", "# only a comment\n", "---\n---\n...\n", "null"] {
            assert_eq!(documents(text).unwrap(), Vec::<Value>::new(), "{text:?}");
        }
        let text = "\u{feff}---\n# first\n---\na: 1\n---\n---\n{\"b\": [2]}\n...\n";
        assert_eq!(
            documents(text).unwrap(),
            [json!({"a": 1}), json!({"b": [2]})]
        );
    }

    #[test]
    fn numbers_are_read_as_kubectl_reads_them() {
        let text = "[0400, 0644, 0, 00, 0o17, 0x1f, 10, -017, 1.5, 1e3, \"0644\", 0_7]";
        let expected = json!([256, 420, 0, 0, 15, 31, 10, -15, 1.5, 1000.0, "0644", 7]);
        assert_eq!(documents(text).unwrap(), [expected]);
    }

    #[test]
    fn json_values_may_follow_each_other() {
        for text in [
            "{\"a\": 1}\n{\"b\": null}\n",
            "\u{feff} {\"a\":1}{\"b\":null}",
            "{\"a\": 1}\n---\n{\"b\": null}",
        ] {
            let expected = [json!({"a": 1}), json!({"b": null})];
            assert_eq!(documents(text).unwrap(), expected, "{text:?}");
        }
        for text in ["{\"a\": 1}{", "{\"a\": 1} b", "{a: 1}{b: 1}"] {
            assert!(documents(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn an_error_has_the_number_of_its_document() {
        for (text, document) in [
            ("a: [", 1),
            ("---\na: [", 1),
            ("a: 1\n---\nb: 2\n---\nc: [\n", 3),
            ("a: 1\n---\n---\n# nothing\n---\nc: {a: 1\n---\nd: 1\n", 2),
            ("a: 1\n---\nb: 1\nb: 2\n---\nd: 1\n", 2),
        ] {
            let error = documents(text).unwrap_err();
            assert_eq!(error.document, document, "{text:?}: {error}");
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
        }
        let error = documents("b: 1\nb: 2\n").unwrap_err().to_string();
        assert!(
            error.starts_with("not YAML: ") && error.contains("line 2"),
            "{error}"
        );
        assert!(
            error.contains("duplicate") && !error.contains("Policy"),
            "{error}"
        );
    }
}
