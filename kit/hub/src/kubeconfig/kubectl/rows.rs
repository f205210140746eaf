//! The table of `rows.txt`.

use super::{Berth, Files, Row};

const TABLE: &str = include_str!("rows.txt");

/// The fields of a cluster with TLS.
const TLS: &str = "server: '{S}', certificate-authority-data: {CA}";

/// A kubeconfig.
const WHOLE: &str = "{current-context: c, contexts: [{name: c, context: {cluster: c, user: u, namespace: team}}], \
     clusters: [{name: c, cluster: {server: '{S}', certificate-authority-data: {CA}}}], users: [{name: u, user: {token: abc}}]}";

pub(super) fn all() -> Vec<Row> {
    let mut section = "";
    let lines = TABLE
        .lines()
        .filter(|it| !it.starts_with('#') && !it.is_empty());
    let rows = lines.filter_map(|line| {
        if line.starts_with('[') && line.ends_with(']') {
            section = line;
            return None;
        }
        Some(row(section, line))
    });
    rows.collect()
}

fn row(section: &str, line: &'static str) -> Row {
    let mut columns: Vec<_> = line.split(';').map(str::trim).collect();
    let berth = berth(columns.pop().unwrap());
    let texts = columns.into_iter().map(|it| match it {
        "TLS" => TLS,
        "WHOLE" => WHOLE,
        it => it,
    });
    let texts: Vec<_> = texts.collect();
    let config = match (section, &texts[..]) {
        ("[user]", [cluster, user]) => Files::Of(cluster, user),
        ("[file]", [text]) => Files::File((*text).to_owned()),
        ("[change]", [part, new]) => {
            assert!(WHOLE.contains(part), "{line}");
            Files::File(WHOLE.replacen(part, new, 1))
        }
        ("[several]", _) => Files::Several(texts),
        _ => panic!("{line}"),
    };
    Row { config, berth }
}

fn berth(text: &'static str) -> Berth {
    match text.split_once(": ") {
        None if text == "same" => Berth::Same,
        Some(("refuses", words)) => Berth::Refuses(words),
        Some(("takes", why)) => Berth::Takes(why),
        Some(("differs", why)) => Berth::Differs(why),
        _ => panic!("{text}"),
    }
}
