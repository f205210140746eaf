use berth_api::ManagedCluster;
use serde_json::json;

use super::*;

/// Names and whether they are accepted, of those that are not called `other`.
struct Names;

impl View for Names {
    type Kind = ManagedCluster;

    fn titles(&self) -> Vec<&'static str> {
        vec!["NAME", "ACCEPTED", "AGE"]
    }

    fn cells(&self, item: &Item<ManagedCluster>, now: Timestamp) -> Vec<String> {
        let accepted = item.object.spec.hub_accepts_client.to_string();
        vec![item.name(), accepted, now.as_second().to_string()]
    }

    fn tree(&self, items: &[Item<ManagedCluster>]) -> Node {
        let root = Node::new("All");
        items
            .iter()
            .fold(root, |root, item| root.with(Node::new(item.name())))
    }

    fn none(&self) -> String {
        "None.".to_owned()
    }

    fn includes(&self, item: &Item<ManagedCluster>) -> bool {
        !item.object.labels().contains_key("other")
    }
}

fn cluster(name: &str, accepted: bool) -> Item<ManagedCluster> {
    Item::of(
        json!({"metadata": {"name": name, "managedFields": []}, "spec": {"hubAcceptsClient": accepted}}),
    )
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// What a screen of this format has on it.
fn written(
    format: Format,
    write: impl FnOnce(&mut Screen<&mut Vec<u8>>) -> io::Result<()>,
) -> String {
    let mut out = Vec::new();
    write(&mut Screen::new(&mut out, format, true)).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_row_follows_when_it_says_something_new() {
    let shown = written(Format::Table, |screen| {
        screen.begin(&Names, &[cluster("c1", false)], at(1))?;
        screen.changed(&Names, &cluster("c1", false), at(2))?;
        screen.changed(&Names, &cluster("c1", true), at(3))?;
        screen.changed(&Names, &cluster("cluster-2", false), at(4))?;
        screen.changed(&Names, &cluster("c1", true), at(5))?;
        screen.gone(&Names, &cluster("c1", true), at(6))?;
        screen.gone(&Names, &cluster("c1", true), at(7))
    });
    assert_eq!(
        shown,
        "NAME   ACCEPTED   AGE\n\
         c1     false      1\n\
         c1     true       3\n\
         cluster-2   false      4\n\
         c1          true       6\n"
    );
}

#[test]
fn titles_come_with_the_first_row_and_once() {
    let shown = written(Format::Table, |screen| {
        screen.begin(&Names, &[], at(1))?;
        screen.changed(&Names, &cluster("c1", false), at(2))?;
        screen.changed(&Names, &cluster("c2", false), at(2))
    });
    assert_eq!(
        shown,
        "NAME   ACCEPTED   AGE\nc1     false      2\nc2     false      2\n"
    );
}

#[test]
fn what_is_no_longer_included_is_shown_once_more() {
    let mut other = cluster("c1", true);
    other.object.labels_mut().insert("other".into(), "".into());
    let mut never = cluster("c2", true);
    never.object.labels_mut().insert("other".into(), "".into());
    let shown = written(Format::Table, |screen| {
        screen.begin(&Names, &[cluster("c1", false)], at(1))?;
        screen.changed(&Names, &other, at(2))?;
        screen.changed(&Names, &other, at(3))?;
        screen.changed(&Names, &never, at(4))
    });
    assert_eq!(
        shown,
        "NAME   ACCEPTED   AGE\nc1     false      1\nc1     true       2\n"
    );
}

#[test]
fn after_a_gap_what_differs_is_shown() {
    let shown = written(Format::Table, |screen| {
        let before = [
            cluster("c1", false),
            cluster("c2", false),
            cluster("c3", false),
        ];
        screen.begin(&Names, &before, at(1))?;
        screen.all_are(&Names, &[cluster("c1", false), cluster("c3", true)], at(2))?;
        // It was away, unseen.
        screen.changed(&Names, &cluster("c2", false), at(3))
    });
    assert_eq!(
        shown,
        "NAME   ACCEPTED   AGE\n\
         c1     false      1\n\
         c2     false      1\n\
         c3     false      1\n\
         c3     true       2\n\
         c2     false      3\n"
    );
}

#[test]
fn objects_follow_at_every_change() {
    let play = |screen: &mut Screen<&mut Vec<u8>>| {
        screen.begin(&Names, &[cluster("c1", false)], at(1))?;
        screen.changed(&Names, &cluster("c1", false), at(2))
    };
    let name = "managedcluster.cluster.open-cluster-management.io/c1\n";
    assert_eq!(written(Format::Name, play), name.repeat(2));
    let yaml = written(Format::Yaml, play);
    let documents: Vec<_> = yaml.split("---\n").collect();
    assert_eq!((documents.len(), documents[0]), (2, documents[1]));
    assert!(!yaml.contains("managedFields"), "{yaml}");
    let json = written(Format::Json, play);
    let objects = serde_json::Deserializer::from_str(&json).into_iter::<Value>();
    let names = objects.map(|object| object.unwrap()["metadata"]["name"].clone());
    assert_eq!(names.collect::<Vec<_>>(), ["c1", "c1"]);
}

#[test]
fn one_that_was_named_is_no_list() {
    let list = |items: &[Item<ManagedCluster>], alone| {
        let text = written(Format::Json, |screen| {
            screen.write_all(&Names, items, alone, at(1))
        });
        serde_json::from_str::<Value>(&text).ok()
    };
    let one = [cluster("c1", true)];
    assert_eq!(list(&one, true).unwrap()["kind"], "ManagedCluster");
    assert_eq!(
        list(&one, false).unwrap()["items"][0]["kind"],
        "ManagedCluster"
    );
    assert_eq!(list(&[], false).unwrap()["items"], json!([]));
    assert_eq!(list(&[], true), None);
}

#[test]
fn a_tree_of_nothing_is_not_drawn() {
    let tree = |items: &[Item<ManagedCluster>]| {
        written(Format::Tree, |screen| {
            screen.write_all(&Names, items, false, at(1))
        })
    };
    assert_eq!(tree(&[]), "");
    assert_eq!(tree(&[cluster("c1", true)]), "<All>\n└── <c1>\n");
}

#[test]
fn a_closed_pipe_is_an_error() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for format in [
        Format::Table,
        Format::Wide,
        Format::Tree,
        Format::Json,
        Format::Yaml,
        Format::Name,
    ] {
        let mut screen = Screen::new(Closed, format, true);
        let error = screen
            .write_all(&Names, &[cluster("c1", true)], false, at(1))
            .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "{format:?}");
    }
}
