//! Prints the values: `values.schema.json`, `values.yaml`, the table in the README and the defaults for the templates; and the chart's
//! name and version.

use std::fmt::Write;
use std::fs;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Value, json};

use crate::manifests::files::in_repository;

/// What both charts define for their templates.
const SHARED: &str = include_str!("shared.tpl");
/// A template does not see which values are set, so it compares them with these.
const DEFAULTS: &str = "{{- /* Generated. To change it, change the code and run: BERTH_GENERATE=1 cargo test --test files generated */ -}}\n\n\
                        {{- /* What values.yaml has. */ -}}\n";
const BEGIN: &str = "<!-- values: generated -->\n";
const END: &str = "<!-- end of values -->\n";
/// Lines of comments are at most this long.
const WIDTH: usize = 118;

/// A value, as the YAML text of the defaults has it.
struct Line<'a> {
    /// Its keys.
    path: Vec<&'a str>,
    /// Its line.
    text: &'a str,
    description: String,
}

/// The files of a chart that depend on its values `T`, and on the version.
pub(super) fn files<T>(chart: &str) -> Vec<(String, String)>
where
    T: Default + Serialize + JsonSchema,
{
    let schema = schema_of::<T>();
    let yaml = serde_saphyr::to_string(&T::default());
    let defaults = yaml.expect("values are YAML");
    let lines = lines(&defaults, &schema);
    let readme = format!("charts/{chart}/README.md");
    let text = fs::read_to_string(in_repository(&readme))
        .unwrap_or_else(|error| panic!("cannot read {readme}: {error}"));
    let (before, rest) = text
        .split_once(BEGIN)
        .unwrap_or_else(|| panic!("{readme} has no line {BEGIN}"));
    let (_, after) = rest
        .split_once(END)
        .unwrap_or_else(|| panic!("{readme} has no line {END}"));
    let printed = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    let file = |name: &str, content: String| (format!("charts/{chart}/{name}"), content);
    vec![
        file("Chart.yaml", about(chart)),
        file("values.schema.json", printed + "\n"),
        file("values.yaml", commented(&lines)),
        file("templates/_shared.tpl", SHARED.to_owned()),
        file(
            "templates/_defaults.tpl",
            format!(
                "{DEFAULTS}{{{{- define \"{chart}.defaults\" -}}}}\n{defaults}{{{{- end -}}}}\n"
            ),
        ),
        (
            readme,
            format!("{before}{BEGIN}{}{END}{after}", table(&lines)),
        ),
    ]
}

fn about(chart: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let description = match chart {
        "berth-hub" => "A hub of Open Cluster Management: admission gate, controllers, CRDs",
        "berth-agent" => "The agent of a managed cluster of Open Cluster Management",
        other => panic!("what is {other}?"),
    };
    format!(
        "{}apiVersion: v2\nname: {chart}\ndescription: \"{description}\"\ntype: application\nversion: {version}\nappVersion: \
         \"{version}\"\nkubeVersion: \">=1.28.0-0\"\n",
        crate::generated::HEADER
    )
}

/// Draft 7 and without references, so that every major of Helm reads it.
fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|it| it.inline_subschemas = true);
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    tidy(&mut schema);
    schema
}

/// Every value has a default, which values.yaml shows, so none is required. Formats such as uint16 are no formats of JSON Schema.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            // A property may be named so, too: it would be an object.
            fields.retain(|name, it| {
                (name != "format" || !it.is_string())
                    && !["title", "default"].contains(&name.as_str())
            });
            if fields.get("type") == Some(&json!("object")) && fields.contains_key("properties") {
                let of_a_list = fields["properties"].as_object().map(serde_json::Map::len)
                    == Some(1)
                    && fields["properties"].get("name").is_some();
                if !of_a_list {
                    fields.remove("required");
                }
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// Each key of the defaults, in their order. Lists have their items in lines of their own, which are no keys.
fn lines<'a>(defaults: &'a str, schema: &Value) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    let mut path: Vec<(usize, &str)> = Vec::new();
    for text in defaults.lines() {
        let content = text.trim_start();
        let indent = text.len() - content.len();
        if content.starts_with('-') {
            let path = Vec::new();
            lines.push(Line {
                path,
                text,
                description: String::new(),
            });
            continue;
        }
        let (key, _) = content.split_once(':').expect("a line of values has a key");
        path.retain(|(depth, _)| *depth < indent);
        path.push((indent, key));
        let keys: Vec<&str> = path.iter().map(|(_, key)| *key).collect();
        let at = keys
            .iter()
            .fold(schema, |schema, key| &schema["properties"][key]);
        let description = at["description"].as_str().unwrap_or_default();
        let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!description.is_empty(), "{keys:?} has no description");
        lines.push(Line {
            path: keys,
            text,
            description,
        });
    }
    lines
}

fn commented(lines: &[Line<'_>]) -> String {
    let mut text = crate::generated::HEADER.to_owned();
    for line in lines {
        let indent = line.text.len() - line.text.trim_start().len();
        if line.path.len() == 1 {
            text.push('\n');
        }
        for comment in wrapped(&line.description, WIDTH - indent) {
            writeln!(text, "{:indent$}# {comment}", "").expect("a string can be written");
        }
        writeln!(text, "{}", line.text).expect("a string can be written");
    }
    text
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A row for each value that has a default of its own. Pods have the same ones in all Deployments: their rows are written once.
fn table(lines: &[Line<'_>]) -> String {
    let mut text = "| Value | Default | |\n|---|---|---|\n".to_owned();
    let mut rows = lines.iter().peekable();
    let mut first_pods: Option<&str> = None;
    while let Some(line) = rows.next() {
        let Some(key) = line.path.last() else {
            continue;
        };
        let (_, default) = line.text.split_once(':').expect("it has a key");
        let mut default = default.trim().to_owned();
        if rows.peek().is_some_and(|next| next.path.is_empty()) {
            default = rows
                .next()
                .expect("it was there")
                .text
                .trim_start_matches(['-', ' '])
                .to_owned();
            default = format!("[{default}]");
        }
        let pods = pods(&line.path);
        if *key == "replicas" && first_pods.is_none() {
            first_pods = pods;
        }
        let are_others = pods.is_some() && first_pods.is_some() && first_pods != pods;
        if are_others && line.path.last() != pods.as_ref() {
            continue;
        }
        // A line that only opens a group is the heading of its rows.
        let shown = if default.is_empty() {
            String::new()
        } else {
            format!("`{default}`")
        };
        let description = line.description.replace('|', "\\|");
        let description = match first_pods {
            Some(first) if are_others => {
                format!("{description} Their values are those of `{first}`.")
            }
            _ => description,
        };
        writeln!(
            text,
            "| `{}` | {shown} | {description} |",
            line.path.join(".")
        )
        .expect("a string can be written");
    }
    text
}

/// The name of the pods that a value is of.
fn pods<'a>(path: &[&'a str]) -> Option<&'a str> {
    match path {
        [first, ..] if ["gate", "controller", "placement", "agent"].contains(first) => Some(first),
        [_, "pods", ..] => Some("pods"),
        _ => None,
    }
}
