//! Add-ons that have failed, or do not work on their clusters.

use berth_rules::display::ShellWord;

use super::some_of;
use crate::doctor::facts::Facts;
use crate::doctor::finding::{Check, Finding, FindingObject};

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let troubled = match &facts.addons {
        Ok(troubled) => troubled,
        Err(unread) => return vec![Check::AddOns.unknown("the add-ons", unread)],
    };
    let findings = troubled.iter().filter_map(|((addon, state), on)| {
        let cluster = on.first.first()?;
        let first: Vec<&str> = on.first.iter().map(String::as_str).collect();
        let what = match *state {
            "failed" => "it has failed",
            _ => "it is not available",
        };
        let clusters = match on.count {
            1 => "cluster".to_owned(),
            count => format!("{count} clusters,"),
        };
        let message = format!("{what} on {clusters} {}", some_of(&first, on.count));
        let (addon_word, cluster) = (ShellWord(addon), ShellWord(cluster));
        let finding = Check::AddOns
            .warning(message)
            .of(FindingObject::new("clustermanagementaddon", addon))
            .remedy(format!(
                "berth addon explain {addon_word} --cluster {cluster}"
            ));
        Some(finding)
    });
    findings.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::checks::testing::{told, with};
    use crate::doctor::facts::{OnClusters, Unread};

    #[test]
    fn each_add_on_in_trouble_is_named_with_its_clusters() {
        let facts = with(|facts| {
            let on = |count, first: &[&str]| OnClusters {
                count,
                first: first.iter().map(ToString::to_string).collect(),
            };
            let mut add = |name: &str, state, on| {
                facts
                    .addons
                    .as_mut()
                    .unwrap()
                    .insert((name.to_owned(), state), on)
            };
            add("proxy", "failed", on(1, &["c1"]));
            add(
                "proxy",
                "unavailable",
                on(7, &["c2", "c3", "c4", "c5", "c6"]),
            );
        });
        let found = check(&facts);
        let expected = [
            "warning: it has failed on cluster \"c1\"",
            "warning: it is not available on 7 clusters, \"c2\", \"c3\", \"c4\", \"c5\", \"c6\" and 2 more",
        ];
        assert_eq!(told(&found, &expected), expected);
        assert_eq!(
            found[0].remedy.as_deref(),
            Some("berth addon explain proxy --cluster c1")
        );
        assert_eq!(found[0].object.as_ref().unwrap().name, "proxy");
        let facts = with(|facts| facts.addons = Err(Unread::Why("no".to_owned())));
        let expected = ["unknown: could not be checked: the add-ons: no"];
        assert_eq!(told(&check(&facts), &expected), expected);
    }
}
