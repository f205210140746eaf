//! The query of a stream's URL.

use http::StatusCode;

use crate::respond::Refused;
use crate::search::Query;
use crate::table::{MOST_ROWS, Sort, View};

/// The rows of a window, unless the page asks for another number.
const USUAL_ROWS: usize = 100;

/// What a stream is asked for.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) screen: Screen,
}

#[derive(Debug)]
pub(super) enum Screen {
    Clusters(Box<View>),
    Requests,
    Cluster(String),
}

// === impl Asked ===

impl Asked {
    /// Reads `screen=clusters&q=QUERY&sort=FIELD,-FIELD&from=N&count=M`, `screen=requests` or `screen=cluster&name=NAME`.
    ///
    /// # Errors
    /// A value cannot be read, or a key is unknown.
    pub(super) fn read(query: &str) -> Result<Self, Refused> {
        let bad = |why: String| Refused::new(StatusCode::BAD_REQUEST, "BadRequest", why);
        let mut screen = String::new();
        let mut name = None;
        let mut view = View {
            count: USUAL_ROWS,
            ..View::default()
        };
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            let number = || {
                let parsed = value.parse::<usize>();
                parsed.map_err(|_| bad(format!("{key}: {value:?} is not a number")))
            };
            match &*key {
                "screen" => screen = value.into_owned(),
                "q" => view.query = Query::parse(&value)?,
                "sort" => view.sort = Sort::parse(&value).map_err(|it| bad(it.0))?,
                "from" => view.from = number()?,
                "count" => view.count = number()?,
                "name" => name = Some(value.into_owned()),
                _ => return Err(bad(format!("{key:?} is not a key of a stream"))),
            }
        }
        if view.count > MOST_ROWS {
            return Err(bad(format!("count: a window has at most {MOST_ROWS} rows")));
        }
        let screen = match (&*screen, name) {
            ("clusters", None) => Screen::Clusters(Box::new(view)),
            ("requests", None) => Screen::Requests,
            ("cluster", Some(name)) if !name.is_empty() => Screen::Cluster(name),
            ("cluster", _) => return Err(bad("name: the cluster's name is missing".to_owned())),
            _ => {
                return Err(bad(
                    "screen: clusters, requests, or cluster with a name".to_owned()
                ));
            }
        };
        Ok(Self { screen })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_a_screen_and_bad_values_are_named() {
        let read = |query: &str| Asked::read(query).map(|it| format!("{:?}", it.screen));
        assert!(read("screen=clusters").unwrap().contains("count: 100"));
        let view = read("screen=clusters&q=set%3Aprod+%21available&sort=-name&from=5&count=7");
        let view = view.unwrap();
        assert!(
            view.contains("prod") && view.contains("from: 5, count: 7"),
            "{view}"
        );
        assert_eq!(
            read("screen=cluster&name=c%2F1").unwrap(),
            "Cluster(\"c/1\")"
        );
        for (query, reason, words) in [
            ("", "BadRequest", "screen: clusters"),
            ("screen=fleet", "BadRequest", "screen: clusters"),
            ("screen=cluster", "BadRequest", "name is missing"),
            (
                "screen=clusters&count=501",
                "BadRequest",
                "at most 500 rows",
            ),
            (
                "screen=clusters&from=-1",
                "BadRequest",
                "from: \"-1\" is not a number",
            ),
            (
                "screen=clusters&sort=age",
                "BadRequest",
                "\"age\" is not a field",
            ),
            (
                "screen=clusters&q=foo:bar",
                "BadQuery",
                "\"foo\" is not a key",
            ),
            (
                "screen=clusters&x=1",
                "BadRequest",
                "\"x\" is not a key of a stream",
            ),
        ] {
            let refused = read(query).unwrap_err().0;
            assert_eq!(refused.reason.as_str(), reason, "{query}");
            assert!(
                refused.message.as_str().contains(words),
                "{query}: {refused:?}"
            );
        }
    }
}
