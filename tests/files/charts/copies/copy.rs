//! How a manifest becomes a template.

use std::fmt::Write;

use berth_manifests::Manifest;

/// A template that is a copy.
pub(super) struct Copy {
    pub(super) manifest: Manifest,
    /// `app.kubernetes.io/component`.
    pub(super) component: &'static str,
    /// When each document is rendered: one for all, or one for each. Empty: always.
    pub(super) guards: &'static [&'static str],
    /// Whether it is rendered with the operator only, or without it only.
    pub(super) of_operator: bool,
    /// Annotations in all documents: lines of the template.
    pub(super) annotations: &'static str,
    /// Labels besides the recommended ones: lines of the template.
    pub(super) labels: &'static str,
    /// What is replaced, wherever it is. Each is there.
    pub(super) replaced: &'static [(&'static str, &'static str)],
}

// === impl Copy ===

impl Copy {
    /// The path of the template, which is that of the manifest below `templates/`, and its text.
    pub(super) fn made(&self, chart: &str) -> (String, String) {
        let path = self
            .manifest
            .path
            .strip_prefix("manifests/")
            .expect("all are there");
        let source = self.manifest.text.strip_prefix(crate::generated::HEADER);
        let mut text = escaped(source.unwrap_or(self.manifest.text));
        for (find, replacement) in self.replaced {
            assert!(text.contains(find), "{path} has no {find}");
            text = text.replace(find, replacement);
        }
        let documents: Vec<&str> = text.split("\n---\n").collect();
        let mut made = crate::generated::HEADER.to_owned();
        assert!(
            self.guards.len() <= 1 || self.guards.len() == documents.len(),
            "{path}"
        );
        for (index, document) in documents.iter().enumerate() {
            let guard = self.guards.get(index).or(self.guards.first());
            let kind = document
                .lines()
                .find_map(|line| line.strip_prefix("kind: "))
                .unwrap_or_default();
            let is_registration = kind.ends_with("WebhookConfiguration");
            let (annotations, guard) = match guard {
                // Beside the policies in their file is the registration of what they do not cover.
                Some(&super::WITH_WEBHOOK) if is_registration => (
                    super::INJECT,
                    Some(format!(
                        "and $.Values.registrations.enabled ({})",
                        super::WITH_WEBHOOK
                    )),
                ),
                guard => (self.annotations, guard.map(|it| (*it).to_owned())),
            };
            let annotations = match annotations.contains("$kind") {
                true if kind == "Namespace" => super::KEEP,
                true => "",
                false => annotations,
            };
            let component = if is_registration {
                "registrations"
            } else {
                self.component
            };
            let guard = self.guarded(guard.as_deref());
            writeln!(made, "{{{{- if {guard} }}}}\n---").expect("a string can be written");
            made.push_str(&with_metadata(
                document,
                component,
                annotations,
                self.labels,
            ));
            made.push_str("{{- end }}\n");
        }
        (format!("charts/{chart}/templates/{path}"), made)
    }

    /// The guard of a document, with what holds for all of them: the operator is installed instead of what it installs.
    fn guarded(&self, guard: Option<&str>) -> String {
        let operator = super::OPERATOR;
        match (self.of_operator, guard) {
            (true, None) => operator.to_owned(),
            (true, Some(guard)) => format!("and {operator} ({guard})"),
            (false, None) => format!("not {operator}"),
            (false, Some(guard)) => format!("and (not {operator}) ({guard})"),
        }
    }
}

/// So that Helm leaves the templates of others alone, such as those of alerts.
fn escaped(text: &str) -> String {
    text.replace("{{", "{{\"{{\"}}")
}

/// The document with annotations and labels.
fn with_metadata(document: &str, component: &str, annotations: &str, labels: &str) -> String {
    let recommended = format!(
        "    {{{{- include \"berth.labels\" (list $ \"{component}\") | nindent 4 }}}}\n{labels}"
    );
    let mut made = String::new();
    let mut is_metadata = false;
    let (mut annotated, mut labelled) = (annotations.is_empty(), false);
    // What the metadata lacks is at its end.
    let close = |made: &mut String, annotated: bool, labelled: bool| {
        if !annotated {
            let conditional = annotations
                .strip_prefix("{{- if ")
                .and_then(|it| it.split_once("\n"));
            match conditional {
                Some((condition, lines)) => {
                    write!(made, "{{{{- if {condition}\n  annotations:\n{lines}")
                        .expect("a string can be written");
                }
                None => {
                    write!(made, "  annotations:\n{annotations}").expect("a string can be written")
                }
            }
        }
        if !labelled {
            write!(made, "  labels:\n{recommended}").expect("a string can be written");
        }
    };
    for line in document.lines() {
        if is_metadata && !line.starts_with(' ') {
            close(&mut made, annotated, labelled);
            is_metadata = false;
        }
        // They are in the manifests, too.
        if is_metadata && line.trim_start().starts_with("app.kubernetes.io/") {
            continue;
        }
        made.push_str(line);
        made.push('\n');
        match line {
            "metadata:" => is_metadata = true,
            "  annotations:" if is_metadata && !annotated => {
                made.push_str(annotations);
                annotated = true;
            }
            "  labels:" if is_metadata => {
                made.push_str(&recommended);
                labelled = true;
            }
            _ => {}
        }
    }
    if is_metadata {
        close(&mut made, annotated, labelled);
    }
    made
}
