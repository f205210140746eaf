use serde_json::{Value, json};

use super::*;
use crate::get::clustersets::facts::Facts;
use crate::print::Format;

fn set(name: &str) -> Item<ManagedClusterSet> {
    Item::of(json!({"metadata": {"name": name}}))
}

fn binding(set: &str, namespace: &str) -> Item<ManagedClusterSetBinding> {
    Item::of(
        json!({"metadata": {"name": set, "namespace": namespace}, "spec": {"clusterSet": set}}),
    )
}

fn cluster(name: &str, set: &str) -> Item<ManagedCluster> {
    let labels: Value = json!({"cluster.open-cluster-management.io/clusterset": set});
    Item::of(json!({"metadata": {"name": name, "labels": labels}}))
}

/// Names, namespaces and clusters of the rows that are written, of the sets `dev` and `prod`, where `prod` is asked for.
fn rows(play: impl FnOnce(&mut Board<&mut Vec<u8>>, &Asked) -> io::Result<()>) -> Vec<String> {
    let mut out = Vec::new();
    let asked = Asked::new(&["prod".to_owned()], Filter::default());
    let mut facts = Facts::default();
    facts.bindings_are(&[]);
    facts.clusters_are(&[]);
    let mut board = Board {
        view: Sets { wide: true, facts },
        screen: Screen::new(&mut out, Format::Wide, false),
        sets: BTreeMap::new(),
    };
    board
        .set(Change::All(vec![set("dev"), set("prod")]), &asked)
        .unwrap();
    play(&mut board, &asked).unwrap();
    drop(board);
    let text = String::from_utf8(out).unwrap();
    let cells = |line: &str| {
        let label = "cluster.open-cluster-management.io/clusterset=prod";
        let cells = line.replace(label, "").replace("<unknown>", "");
        cells.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    text.lines().map(cells).collect()
}

#[test]
fn a_set_is_shown_again_when_its_row_changes() {
    let applied = |item| Change::Applied(Box::new(item));
    let shown = rows(|board, asked| {
        board.binding(&applied(binding("dev", "a")))?;
        board.binding(&applied(binding("prod", "a")))?;
        board.binding(&applied(binding("prod", "a")))?;
        board.cluster(&Change::Applied(Box::new(cluster("c1", "dev"))))?;
        board.cluster(&Change::Applied(Box::new(cluster("c1", "prod"))))?;
        board.cluster(&Change::Applied(Box::new(cluster("c1", "prod"))))?;
        board.binding(&Change::Deleted(Box::new(binding("prod", "a"))))?;
        board.cluster(&Change::Deleted(Box::new(cluster("c1", "prod"))))?;
        board.set(Change::Applied(Box::new(set("dev"))), asked)?;
        board.set(Change::Applied(Box::new(set("prod"))), asked)?;
        board.set(Change::Deleted(Box::new(set("prod"))), asked)?;
        board.binding(&applied(binding("prod", "a")))
    });
    let expected = ["prod", "prod a", "prod a c1", "prod c1", "prod", "prod"];
    assert_eq!(shown, expected);
}

#[test]
fn what_was_missed_is_made_up_for() {
    let shown = rows(|board, _| {
        board.binding(&Change::All(vec![
            binding("prod", "a"),
            binding("prod", "b"),
        ]))?;
        board.binding(&Change::All(vec![
            binding("prod", "b"),
            binding("dev", "a"),
        ]))?;
        board.cluster(&Change::All(vec![
            cluster("c1", "prod"),
            cluster("c2", "dev"),
        ]))?;
        board.cluster(&Change::All(vec![cluster("c2", "dev")]))
    });
    assert_eq!(shown, ["prod", "prod a,b", "prod b", "prod b c1", "prod b"]);
}
