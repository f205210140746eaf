#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// A change of the table.
#[derive(Clone, Debug)]
enum Step {
    Put(u8, bool, u8, u8),
    Remove(u8),
}

fn fact(at: u8, accepted: bool, minor: u8, set: u8) -> ClusterFact {
    ClusterFact::read(&json!({
        "metadata": {
            "name": format!("c{at:02}"),
            "labels": {"cluster.open-cluster-management.io/clusterset": format!("s{set}")},
        },
        "spec": {"hubAcceptsClient": accepted},
        "status": {"version": {"kubernetes": format!("v1.{minor}.0")}},
    }))
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let put = (0..20u8, any::<bool>(), 28..34u8, 0..3u8)
        .prop_map(|(at, accepted, minor, set)| Step::Put(at, accepted, minor, set));
    let remove = (0..20u8).prop_map(Step::Remove);
    prop::collection::vec(prop_oneof![3 => put, 1 => remove], 0..40)
}

fn views() -> impl Strategy<Value = View> {
    let queries = vec![
        "",
        "c1",
        "pending",
        "set:s1 accepted",
        "version<1.31",
        "!set:s0",
    ];
    let sorts = vec!["", "-name", "version,-set", "-state,version"];
    (
        prop::sample::select(queries),
        prop::sample::select(sorts),
        0..12usize,
        0..8usize,
    )
        .prop_map(|(query, sort, from, count)| View {
            query: Query::parse(query).unwrap(),
            sort: Sort::parse(sort).unwrap(),
            from,
            count,
        })
}

fn apply(table: &mut Table, step: &Step) {
    match *step {
        Step::Put(at, accepted, minor, set) => table.insert(fact(at, accepted, minor, set)),
        Step::Remove(at) => table.remove(&format!("c{at:02}")),
    }
}

/// What a page makes of a delta.
fn replay(page: &mut Window, delta: Delta) {
    let mut rows: HashMap<String, ClusterRow> = (page.rows.drain(..).chain(delta.rows))
        .map(|row| (row.name.as_str().to_owned(), row))
        .collect();
    *page = Window {
        total: delta.total,
        matched: delta.matched,
        counts: delta.counts,
        from: delta.from,
        rows: delta
            .order
            .iter()
            .map(|name| rows.remove(name.as_str()).unwrap())
            .collect(),
    };
}

proptest! {
    #[test]
    fn deltas_replayed_equal_the_table(steps in steps(), view in views()) {
        let mut table = Table::default();
        let mut shown = table.window(&view);
        let mut page = shown.answer();
        for step in steps {
            apply(&mut table, &step);
            let now = table.window(&view);
            match now.since(&shown) {
                Some(delta) => replay(&mut page, delta),
                None => prop_assert_eq!(&page, &now.answer()),
            }
            prop_assert_eq!(&page, &now.answer());
            prop_assert_eq!(now.since(&now).map(drop), None);
            shown = now;
        }
    }

    #[test]
    fn a_window_of_a_filtered_table_is_the_filter_of_the_whole(steps in steps(), view in views()) {
        let mut table = Table::default();
        steps.iter().for_each(|step| apply(&mut table, step));
        let whole = View { query: Query::default(), from: 0, count: MOST_ROWS, sort: view.sort.clone() };
        let filtered: Vec<ClusterRow> = (table.window(&whole).rows.iter())
            .filter(|row| view.query.matches(row))
            .map(|row| row.row.clone())
            .collect();
        let window = table.window(&view).answer();
        prop_assert_eq!(window.matched, filtered.len());
        prop_assert_eq!(window.total, table.len());
        let expected: Vec<_> = filtered.into_iter().skip(view.from).take(view.count).collect();
        prop_assert_eq!(window.rows, expected);
    }

    #[test]
    fn counts_are_of_all_that_match(steps in steps(), view in views()) {
        let mut table = Table::default();
        steps.iter().for_each(|step| apply(&mut table, step));
        let Window { counts, matched, .. } = table.window(&view).answer();
        prop_assert_eq!(counts.pending + counts.accepted, matched);
    }
}

#[test]
fn a_window_is_bounded_whatever_a_page_asks_for() {
    let mut table = Table::default();
    for at in 0..10_000u32 {
        table.insert(ClusterFact::read(&json!({
            "metadata": {"name": format!("cluster-{at}")},
            "spec": {"hubAcceptsClient": at % 2 == 0},
            "status": {"version": {"kubernetes": format!("v1.{}.0", 28 + at % 6)}},
        })));
    }
    let view = View {
        query: Query::parse("pending").unwrap(),
        sort: Sort::parse("-version").unwrap(),
        from: 0,
        count: 10_000,
    };
    let shown = table.window(&view);
    assert_eq!(shown.rows.len(), MOST_ROWS);
    assert!(shown.matched < 10_000 && shown.total == 10_000);
}
