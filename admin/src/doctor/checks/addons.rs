//! Add-ons that have failed, or do not work on their clusters.

use berth_rules::display::ShellWord;

use super::{crds, some_of};
use crate::doctor::facts::{Facts, Trouble};
use crate::doctor::finding::{Check, Finding, FindingObject};

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let troubled = match &facts.addons {
        Ok(troubled) => troubled,
        // A user without the right is refused whether the hub has the kind or not.
        Err(_) if !crds::ADDONS.exists(facts) => return Vec::new(),
        Err(unread) => return vec![Check::AddOns.unknown("the add-ons", unread)],
    };
    let findings = troubled.iter().filter_map(|((addon, trouble), on)| {
        let cluster = on.first.first()?;
        let first: Vec<&str> = on.first.iter().map(String::as_str).collect();
        let what = match trouble {
            Trouble::Failed => "the add-on has failed",
            Trouble::Unavailable => "the add-on is not available",
        };
        let clusters = match on.count {
            1 => "cluster".to_owned(),
            count => format!("{count} clusters:"),
        };
        let message = format!("{what} on {clusters} {}", some_of(&first, on.count));
        let (name, of) = (ShellWord(addon), ShellWord(cluster));
        let finding = Check::AddOns
            .warning(message)
            .of(FindingObject::within("managedclusteraddon", cluster, addon))
            .remedy(format!("berth addon explain {name} --cluster {of}"));
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
            let troubled = facts.addons.as_mut().unwrap();
            let name = || "proxy".to_owned();
            troubled.insert((name(), Trouble::Failed), on(1, &["c1"]));
            let first = ["c2", "c3", "c4", "c5", "c6"];
            troubled.insert((name(), Trouble::Unavailable), on(7, &first));
        });
        let found = check(&facts);
        let expected = [
            "warning: the add-on has failed on cluster \"c1\"",
            "warning: the add-on is not available on 7 clusters: \"c2\", \"c3\", \"c4\", \"c5\", \"c6\" and 2 more",
        ];
        assert_eq!(told(&found, &expected), expected);
        let remedy = found[0].remedy.as_deref();
        assert_eq!(remedy, Some("berth addon explain proxy --cluster c1"));
        let object = found[0].object.as_ref().unwrap().to_string();
        assert_eq!(object, "managedclusteraddon/proxy in c1");
    }

    #[test]
    fn add_ons_that_cannot_be_read_are_unknown_unless_the_hub_has_none() {
        let refused = |facts: &mut Facts| facts.addons = Err(Unread::Why("no".to_owned()));
        let expected = ["unknown: could not be checked: the add-ons: no"];
        assert_eq!(told(&check(&with(refused)), &expected), expected);
        let facts = with(|facts| {
            refused(facts);
            facts.crds.retain(|name, _| !name.contains("addon"));
        });
        assert_eq!(check(&facts), []);
    }
}
