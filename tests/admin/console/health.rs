//! The screen Health: the checks of `berth doctor`, live.

use serde_json::{Value, json};

use super::{Console, blocking};
use crate::house::House;
use berth_testkit::browser::{play, stage};
use berth_testkit::cluster::{fresh, path_of};

const OF_SETS: &str = "managedclustersetvalidators.admission.cluster.open-cluster-management.io";

/// The result of a check.
fn result(answer: &Value, id: &str) -> Value {
    let mut checks = answer["checks"].as_array().unwrap().iter();
    checks.find(|it| it["id"] == *id).unwrap()["result"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_checks_run_by_themselves_when_a_registration_changes() {
    let (house, berth) = House::private().await;
    let console = blocking(|| Console::start(&house.admin, &[]));
    let cookie = blocking(|| console.sign_in());
    let mut screen = blocking(|| console.events(&cookie, "screen=health"));
    let shown = blocking(|| screen.until("answer", |it| it["followed"] == true));
    assert_eq!(result(&shown, "registrations"), "passed", "{shown}");
    assert_eq!(result(&shown, "dry-run"), "passed", "{shown}");
    assert_eq!(shown["dryRuns"], true, "{shown}");
    // The controller of this hub holds its Lease, and renews it while we look.
    let leads = |it: &Value| it["leaders"][0]["renewed"].is_string();
    let shown = blocking(|| screen.until("answer", leads));
    let leader = &shown["leaders"][0];
    assert_eq!(
        (&leader["controller"], &leader["late"]),
        (&json!("registration"), &json!(false)),
        "{shown}"
    );
    let before = leader["renewed"].clone();
    blocking(|| screen.until("answer", |it| it["leaders"][0]["renewed"] != before));

    // A run again is refused while it is too soon, in words.
    let again = blocking(|| console.write(&cookie, "/api/health", &json!({})));
    if again.code != 204 {
        let error = &again.body["error"];
        assert_eq!((again.code, &error["reason"]), (429, &json!("TooSoon")));
        let words = error["message"].as_str().unwrap();
        assert_eq!(words, "the checks run at most every 10 s");
    }
    let other = blocking(|| console.write(&cookie, "/api/health", &json!({"now": true})));
    assert_eq!(
        (other.code, &other.body["error"]["reason"]),
        (400, &json!("BadBody"))
    );

    let registrations = berth.registrations();
    let mut registrations = registrations.iter();
    let registration = registrations.find(|it| it["metadata"]["name"] == OF_SETS);
    let registration = registration.unwrap();
    house
        .admin
        .delete(&path_of(registration))
        .await
        .unwrap()
        .ok();
    let is_found = |it: &Value| result(it, "registrations") == "warning";
    let shown = blocking(|| screen.until("answer", is_found));
    let mut findings = shown["findings"].as_array().unwrap().iter();
    let finding = findings.find(|it| it["check"] == "registrations").unwrap();
    let object = finding["object"].as_str().unwrap();
    assert!(object.contains(OF_SETS), "{finding}");
    let mut remedy = finding["remedy"].as_array().unwrap().iter();
    assert!(remedy.any(|it| it["command"] == true), "{finding}");
    let path = path_of(registration);
    let (list, _) = path.rsplit_once('/').unwrap();
    house.admin.post(list, registration).await.unwrap().ok();
    let is_gone = |it: &Value| result(it, "registrations") == "passed";
    blocking(|| screen.until("answer", is_gone));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_console_sends_no_dry_runs_and_a_user_without_rights_is_told() {
    let house = House::shared().await;
    let console = blocking(|| Console::start(&house.admin, &["--read-only"]));
    let cookie = blocking(|| console.sign_in());
    let mut screen = blocking(|| console.events(&cookie, "screen=health"));
    let shown = blocking(|| screen.until("answer", |_| true));
    assert_eq!(shown["dryRuns"], false, "{shown}");
    assert_eq!(result(&shown, "dry-run"), "skipped", "{shown}");
    // To look again is no action.
    let again = blocking(|| console.write(&cookie, "/api/health", &json!({})));
    let reason = &again.body["error"]["reason"];
    assert!(again.code == 204 || *reason == "TooSoon", "{}", again.body);

    let person = house.cluster.user(&fresh("nobody"), &[]).await;
    let console = blocking(|| Console::start(&person, &[]));
    let cookie = blocking(|| console.sign_in());
    let mut screen = blocking(|| console.events(&cookie, "screen=health"));
    let failure = blocking(|| screen.until("failure", |_| true));
    let words = failure["error"]["message"].as_str().unwrap();
    assert!(
        words.contains("none of the permissions") && words.contains("berth:doctor"),
        "{words}"
    );
}

#[tokio::test]
async fn a_person_sees_what_is_wrong_and_looks_again() {
    let Some(web) = stage() else {
        return;
    };
    let (house, berth) = House::private().await;
    let registrations = berth.registrations();
    let mut registrations = registrations.iter();
    let registration = registrations.find(|it| it["metadata"]["name"] == OF_SETS);
    let path = path_of(registration.unwrap());
    house.admin.delete(&path).await.unwrap().ok();
    let person = house.cluster.user(&fresh("nobody"), &[]).await;
    let of_admin = Console::start(&house.admin, &[]);
    let of_nobody = Console::start(&person, &[]);
    play(
        &web.join("tests/health.mjs"),
        &[
            ("CONSOLE", &of_admin.address()),
            ("CONSOLE_NOBODY", &of_nobody.address()),
        ],
    )
    .await;
}
