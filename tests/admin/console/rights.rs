//! What the user may do, as the console says it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Console, blocking};
use crate::house::House;
use berth_manifests::files;
use berth_testkit::cluster::{Person, fresh};

const ROLES: &str = "open-cluster-management:berth:";

/// For each right: the role that has it, if the user lacks it; else none.
type Lacking = BTreeMap<String, Option<String>>;

/// The rules of a role for people, by its whole name.
fn rules(role: &str) -> Vec<Value> {
    let roles = [
        files::PEOPLE_ROLES.documents(),
        files::PEOPLE_AGGREGATED.documents(),
    ];
    let mut roles = roles.iter().flatten();
    let role = roles.find(|it| it["metadata"]["name"] == role).unwrap();
    role["rules"].as_array().unwrap().clone()
}

async fn asked(person: &Person, namespace: &str) -> (Lacking, Lacking) {
    let console = blocking(|| Console::start(person, &[]));
    let cookie = blocking(|| console.sign_in());
    let path = format!("/api/rights?namespace={namespace}");
    let answer = blocking(|| console.get(&cookie, &path));
    assert_eq!(answer.code, 200, "{answer:?}");
    let lacking = |part: &str| {
        let rights = answer.body[part].as_array().unwrap().iter();
        let lacking = rights.map(|it| {
            let missing = &it["missing"];
            assert_eq!(it["allowed"], missing.is_null(), "{it}");
            let command = missing["command"].as_str().unwrap_or_default();
            let flag = format!(" -n {namespace} ");
            if part == "within" && !missing.is_null() {
                assert_eq!(command.contains(&flag), !namespace.is_empty(), "{command}");
            }
            let role = missing["role"].as_str().map(str::to_owned);
            (it["what"].as_str().unwrap().to_owned(), role)
        });
        lacking.collect()
    };
    (lacking("fleet"), lacking("within"))
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_a_role_may_do_what_was_said_to_be_in_it() {
    let house = House::shared().await;
    let nobody = house.cluster.user(&fresh("nobody"), &[]).await;
    let (fleet, within) = asked(&nobody, "").await;
    let lacking: Lacking = fleet.into_iter().chain(within).collect();
    let roles: BTreeSet<&str> = lacking.values().map(|it| it.as_deref().unwrap()).collect();
    let names = ["accept", "console-reader", "edit", "set-admin", "work-edit"];
    let names = names.map(|it| format!("{ROLES}{it}"));
    assert_eq!(roles, names.iter().map(String::as_str).collect());
    for role in roles {
        let person = house.cluster.user(&fresh("person"), &[]).await;
        house.cluster.grant(&person, &rules(role)).await;
        let (fleet, within) = asked(&person, "").await;
        let now: Lacking = fleet.into_iter().chain(within).collect();
        for (what, before) in &lacking {
            if before.as_deref() == Some(role) {
                assert_eq!(now[what], None, "{role}: {what}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_in_a_namespace_counts_there() {
    let house = House::shared().await;
    let (team, other) = (fresh("team"), fresh("other"));
    let person = house.cluster.user(&fresh("person"), &[]).await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}});
    let made = house.admin.post("/api/v1/namespaces", &namespace).await;
    made.unwrap().ok();
    let role = format!("{ROLES}work-edit");
    house.cluster.grant_in(&team, &person, &rules(&role)).await;
    let (fleet, there) = asked(&person, &team).await;
    assert!(fleet.values().all(Option::is_some), "{fleet:?}");
    let may = |lacking: &Lacking| {
        let may = lacking.iter().filter(|(_, role)| role.is_none());
        may.map(|(what, _)| what.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        may(&there),
        [
            "Change rollouts: pause, resume, approve",
            "Create works",
            "See rollouts",
            "See works",
        ]
    );
    for elsewhere in ["", &other] {
        let (_, within) = asked(&person, elsewhere).await;
        assert!(may(&within).is_empty(), "{elsewhere}: {within:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_namespace_is_refused() {
    let house = House::shared().await;
    let console = blocking(|| Console::start(&house.admin, &[]));
    let cookie = blocking(|| console.sign_in());
    for namespace in ["Team", "a%2Fb", "-"] {
        let path = format!("/api/rights?namespace={namespace}");
        let refused = blocking(|| console.get(&cookie, &path));
        assert_eq!(refused.code, 400, "{namespace}: {refused:?}");
        assert_eq!(refused.body["error"]["reason"], "BadNamespace");
    }
}
