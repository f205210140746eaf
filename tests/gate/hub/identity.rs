//! A SubjectAccessReview is about exactly the user whom the API server authenticated.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::{carol_accepts, gate, review};
use berth_fakes::FakeHub;
use berth_manifests::webhooks::VALIDATE_CLUSTER;

/// A user with every field an authenticator may fill in.
fn users() -> impl Strategy<Value = Value> {
    let text = || prop_oneof!["[a-z:.@-]{0,20}", ".{0,20}", Just(String::new())];
    let name = prop_oneof!["[a-z][a-z:.@-]{0,20}", ".{1,40}"];
    let groups = prop::collection::vec(text(), 0..200);
    let extra = prop::collection::btree_map(text(), prop::collection::vec(text(), 0..5), 0..6);
    let fields = (name, text(), groups, extra);
    fields.prop_map(|(name, uid, groups, extra)| {
        json!({ "username": name, "uid": uid, "groups": groups, "extra": extra })
    })
}

#[test]
fn a_review_asks_about_the_whole_user() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let hub = FakeHub::start();
    let gate = gate(&hub);
    let config = Config {
        cases: 100,
        failure_persistence: None,
        ..Config::default()
    };
    let law = |user: Value| {
        hub.forget();
        let mut write = carol_accepts("c1");
        write["request"]["userInfo"] = user.clone();
        let path = VALIDATE_CLUSTER.path;
        runtime.block_on(review(&gate, path, &write, "20s"));
        let reviews = hub.reviews();
        prop_assert_eq!(reviews.len(), 2);
        for spec in reviews {
            prop_assert_eq!(&spec["user"], &user["username"]);
            prop_assert_eq!(read::<String>(&spec["uid"]), read::<String>(&user["uid"]));
            prop_assert_eq!(
                read::<Vec<String>>(&spec["groups"]),
                read::<Vec<String>>(&user["groups"]),
                "in their order"
            );
            type Extra = BTreeMap<String, Vec<String>>;
            prop_assert_eq!(read::<Extra>(&spec["extra"]), read::<Extra>(&user["extra"]));
        }
        Ok(())
    };
    TestRunner::new(config).run(&users(), law).unwrap();
}

/// What is empty may also be absent.
fn read<T: serde::de::DeserializeOwned + Default>(value: &Value) -> T {
    serde_json::from_value::<Option<T>>(value.clone())
        .unwrap()
        .unwrap_or_default()
}

#[tokio::test]
async fn null_and_absent_are_empty_and_fields_of_tomorrow_do_no_harm() {
    let hub = FakeHub::start();
    let gate = gate(&hub);
    for user in [
        json!({ "username": "carol" }),
        json!({ "username": "carol", "uid": null, "groups": null, "extra": null }),
        json!({ "username": "carol", "uid": "", "groups": [], "extra": {}, "tomorrow": { "a": [1] } }),
    ] {
        hub.forget();
        let mut write = carol_accepts("c1");
        write["request"]["userInfo"] = user.clone();
        let path = VALIDATE_CLUSTER.path;
        let response = review(&gate, path, &write, "10s").await;
        assert_eq!(
            response["status"]["code"], 403,
            "not in carol's team: {user}"
        );
        for spec in hub.reviews() {
            let spec = spec.as_object().unwrap();
            let fields: Vec<_> = spec.keys().collect();
            assert_eq!(fields, ["resourceAttributes", "user"], "{user}");
        }
    }
}
