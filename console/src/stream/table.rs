//! The table of screens: their names in the query of a stream, and what begins each.

use std::borrow::Cow;
use std::sync::Arc;

use http::StatusCode;

use super::cluster::ClusterScreen;
use super::clusters::ClustersScreen;
use super::fleet::FleetScreen;
use super::health::HealthScreen;
use super::placements::{PlacementScreen, PlacementsScreen};
use super::requests::RequestsScreen;
use super::sets::SetsScreen;
use super::timeline::TimelineScreen;
use super::works::{ReplicaSetScreen, WorkScreen, WorksScreen};
use super::{Answers, Screen, Unanswered};
use crate::app::App;
use crate::respond::Refused;
use crate::screens::placement::Chosen;
use crate::screens::timeline::Filter;
use crate::screens::works::Search;
use crate::search::Query;
use crate::table::{MOST_ROWS, Sort, View};

/// The rows of a window, unless the page asks for another number.
const USUAL_ROWS: usize = 100;

/// A screen, or why there is none.
type Begun = Result<Box<dyn Screen>, Refused>;

/// A screen that can be asked for.
struct Row {
    /// The value of `screen`.
    name: &'static str,
    /// The other keys that it takes.
    keys: &'static [&'static str],
    begin: fn(&Arc<App>, &Asked<'_>) -> Begun,
}

/// The screens.
const SCREENS: [Row; 12] = [
    Row {
        name: "fleet",
        keys: &[],
        begin: |app, _| Ok(answers(FleetScreen::new(app))),
    },
    Row {
        name: "clusters",
        keys: &["q", "sort", "from", "count"],
        begin: |app, asked| {
            let screen = ClustersScreen::new(app.clusters.open(), asked.view()?);
            Ok(Box::new(screen))
        },
    },
    Row {
        name: "cluster",
        keys: &["name"],
        begin: |app, asked| {
            let name = asked.needed("name")?.to_owned();
            Ok(answers(ClusterScreen::new(Arc::clone(app), name)))
        },
    },
    Row {
        name: "placements",
        keys: &["q"],
        begin: |app, asked| Ok(answers(PlacementsScreen::new(app, asked.value("q")))),
    },
    Row {
        name: "placement",
        keys: &["namespace", "name", "q", "result"],
        begin: |app, asked| {
            let chosen = Chosen {
                part: asked.value("q").to_owned(),
                result: asked.value("result").to_owned(),
            };
            let (namespace, name) = (asked.needed("namespace")?, asked.needed("name")?);
            let screen = PlacementScreen::new(Arc::clone(app), namespace, name, chosen);
            Ok(answers(screen))
        },
    },
    Row {
        name: "health",
        keys: &[],
        begin: |app, _| Ok(answers(HealthScreen::new(Arc::clone(app)))),
    },
    Row {
        name: "requests",
        keys: &[],
        begin: |app, _| Ok(answers(RequestsScreen::new(Arc::clone(app)))),
    },
    Row {
        name: "sets",
        keys: &[],
        begin: |app, _| Ok(answers(SetsScreen::new(Arc::clone(app)))),
    },
    Row {
        name: "works",
        keys: &["q", "state"],
        begin: |app, asked| {
            let search = Search {
                part: asked.value("q").to_owned(),
                state: asked.value("state").to_owned(),
            };
            Ok(answers(WorksScreen::new(app, search)))
        },
    },
    Row {
        name: "work",
        keys: &["cluster", "name"],
        begin: |app, asked| {
            let (cluster, name) = (asked.needed("cluster")?, asked.needed("name")?);
            Ok(answers(WorkScreen::new(app, cluster, name)))
        },
    },
    Row {
        name: "replicaset",
        keys: &["namespace", "name"],
        begin: |app, asked| {
            let (namespace, name) = (asked.needed("namespace")?, asked.needed("name")?);
            let screen = ReplicaSetScreen::new(Arc::clone(app), namespace, name)?;
            Ok(answers(screen))
        },
    },
    Row {
        name: "timeline",
        keys: &["cluster", "set", "kind", "reason"],
        begin: |app, asked| {
            let filter = Filter {
                cluster: asked.value("cluster").to_owned(),
                set: asked.value("set").to_owned(),
                kind: asked.value("kind").to_owned(),
                reason: asked.value("reason").to_owned(),
            };
            Ok(answers(TimelineScreen::new(app, filter)))
        },
    },
];

/// The query of a stream's URL: `screen=NAME`, and the screen's own keys.
#[derive(Debug)]
pub(crate) struct Asked<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

/// Begins the screen that a query asks for. What is wrong with the query is an event of the stream: a browser shows no body of a refused
/// one.
pub(crate) fn begin(app: &Arc<App>, query: &str) -> Box<dyn Screen> {
    let asked = Asked::read(query);
    let begun = asked.row().and_then(|row| (row.begin)(app, &asked));
    begun.unwrap_or_else(|refused| Box::new(Unanswered(Some(refused.answer()))))
}

fn answers(screen: impl super::Answering) -> Box<dyn Screen> {
    Box::new(Answers::new(screen))
}

fn bad(why: String) -> Refused {
    Refused::new(StatusCode::BAD_REQUEST, "BadRequest", why)
}

// === impl Asked ===

impl<'a> Asked<'a> {
    fn read(query: &'a str) -> Self {
        Self(form_urlencoded::parse(query.as_bytes()).collect())
    }

    /// Returns the value of a key; the empty text if it has none.
    pub(crate) fn value(&self, key: &str) -> &str {
        let found = self.0.iter().find(|(it, _)| it == key);
        found.map_or("", |(_, value)| value)
    }

    /// Returns the value of a key.
    ///
    /// # Errors
    /// It has none.
    pub(crate) fn needed(&self, key: &str) -> Result<&str, Refused> {
        match self.value(key) {
            "" => Err(bad(format!("{key}: this screen needs a value"))),
            value => Ok(value),
        }
    }

    fn number(&self, key: &str, usual: usize) -> Result<usize, Refused> {
        match self.value(key) {
            "" => Ok(usual),
            value => value
                .parse()
                .map_err(|_| bad(format!("{key}: {value:?} is not a number"))),
        }
    }

    fn row(&self) -> Result<&'static Row, Refused> {
        let name = self.value("screen");
        let Some(row) = SCREENS.iter().find(|it| it.name == name) else {
            let names = SCREENS.map(|it| it.name).join(", ");
            let why = format!("screen: {name:?} is not a screen: screens are {names}");
            return Err(bad(why));
        };
        for (at, (key, _)) in self.0.iter().enumerate() {
            if key != "screen" && !row.keys.contains(&&**key) {
                return Err(bad(format!("{key:?} is not a key of the screen {name}")));
            }
            if self.0[..at].iter().any(|(it, _)| it == key) {
                return Err(bad(format!("{key} has two values")));
            }
        }
        Ok(row)
    }

    /// The window of the table of clusters.
    fn view(&self) -> Result<View, Refused> {
        let view = View {
            query: Query::parse(self.value("q"))?,
            sort: Sort::parse(self.value("sort")).map_err(|it| bad(it.0))?,
            from: self.number("from", 0)?,
            count: self.number("count", USUAL_ROWS)?,
        };
        if view.count > MOST_ROWS {
            return Err(bad(format!("count: a window has at most {MOST_ROWS} rows")));
        }
        Ok(view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_a_screen_and_its_own_keys() {
        let read = |query: &str| {
            let asked = Asked::read(query);
            asked.row().map(|it| it.name)
        };
        assert_eq!(read("screen=clusters").unwrap(), "clusters");
        assert_eq!(read("screen=cluster&name=c%2F1").unwrap(), "cluster");
        for (query, words) in [
            ("", "screen: \"\" is not a screen: screens are fleet, "),
            ("screen=nothing", "screen: \"nothing\" is not a screen"),
            (
                "screen=clusters&x=1",
                "\"x\" is not a key of the screen clusters",
            ),
            (
                "screen=requests&q=1",
                "\"q\" is not a key of the screen requests",
            ),
            ("screen=cluster&name=a&name=b", "name has two values"),
        ] {
            let refused = read(query).unwrap_err().0;
            assert_eq!(refused.reason.as_str(), "BadRequest", "{query}");
            let said = refused.message.as_str();
            assert!(said.contains(words), "{query}: {said}");
        }
        let asked = Asked::read("screen=cluster&name=c%2F1");
        assert_eq!(asked.needed("name").unwrap(), "c/1");
        let asked = Asked::read("screen=cluster&name=");
        let refused = asked.needed("name").unwrap_err().0;
        assert_eq!(refused.message.as_str(), "name: this screen needs a value");
    }

    #[test]
    fn a_window_is_read_and_bad_values_are_named() {
        let view = |query: &str| Asked::read(query).view();
        assert_eq!(view("").unwrap().count, 100);
        let read = view("q=set%3Aprod+%21available&sort=-name&from=5&count=7");
        let read = format!("{:?}", read.unwrap());
        assert!(read.contains("prod") && read.contains("from: 5, count: 7"));
        for (query, reason, words) in [
            ("count=501", "BadRequest", "at most 500 rows"),
            ("from=-1", "BadRequest", "from: \"-1\" is not a number"),
            ("sort=age", "BadRequest", "\"age\" is not a field"),
            ("q=foo:bar", "BadQuery", "\"foo\" is not a key"),
        ] {
            let refused = view(query).unwrap_err().0;
            assert_eq!(refused.reason.as_str(), reason, "{query}");
            let said = refused.message.as_str();
            assert!(said.contains(words), "{query}: {said}");
        }
    }
}
