//! What goes wrong around a console: the hub, rights that change, others who do the same, and pages that do not read.

use std::time::Duration;

use futures::future::join_all;
use serde_json::{Value, json};

use super::{Console, accepts, blocking};
use crate::house::{CLUSTERS, House};
use crate::people::{bound, role};
use berth_testkit::cluster::{CRDS, Cluster, Person, fresh};
use berth_testkit::eventually;
use berth_testkit::line::{Line, State};

const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";

/// A console whose kubeconfig is that of `person`, by the line.
fn through(line: &Line, person: &Person) -> Console {
    let kubeconfig = line.kubeconfig(&person.kubeconfig);
    blocking(|| {
        Console::start(
            person,
            &[
                "--kubeconfig",
                kubeconfig.to_str().unwrap(),
                "--request-timeout",
                "5s",
            ],
        )
    })
}

fn has(rows: &Value, name: &str) -> bool {
    let rows = rows.as_array();
    rows.is_some_and(|rows| rows.iter().any(|it| it["name"] == *name))
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_hub_is_away_what_was_known_stays_and_then_it_goes_on() {
    let house = House::shared().await;
    let [before, meanwhile] = [(); 2].map(|()| fresh("awaited"));
    house.managed_cluster(&before, &[]).await;
    let ada = bound(house.cluster, "console-reader").await;
    let line = Line::to(house.cluster).await;
    let console = through(&line, &ada);
    let cookie = blocking(|| console.sign_in());
    let mut table = blocking(|| console.events(&cookie, "screen=clusters&q=awaited"));
    blocking(|| table.until("window", |it| has(&it["rows"], &before)));
    for state in [State::Down, State::Silent] {
        line.is(state);
        let hub = match state {
            State::Down => blocking(|| table.until("hub", |it| it["state"] == "away")),
            // What is silent may live. Who asks is told.
            _ => {
                let path = format!("/api/clusters/{before}/yaml");
                let asked = blocking(|| console.get(&cookie, &path));
                assert_eq!(asked.refused(), (504, "HubAway"), "{asked:?}");
                line.is(State::Up);
                continue;
            }
        };
        let remedy = hub["remedy"].as_str().unwrap();
        assert!(remedy.contains("goes on by itself"), "{hub}");
        // A page that is opened now shows what was known.
        let mut another = blocking(|| console.events(&cookie, "screen=clusters&q=awaited"));
        blocking(|| another.until("window", |it| has(&it["rows"], &before)));
        house.managed_cluster(&meanwhile, &[]).await;
        line.is(State::Up);
        blocking(|| table.until("hub", |it| it["state"] == "connected"));
        let mut late = blocking(|| console.events(&cookie, "screen=clusters&q=awaited"));
        blocking(|| late.until("window", |it| has(&it["rows"], &meanwhile)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_that_come_and_go_count_without_a_new_session() {
    let house = House::shared().await;
    let name = fresh("granted");
    house.managed_cluster(&name, &[]).await;
    let person = house.cluster.user(&fresh("person"), &[]).await;
    let console = blocking(|| Console::start(&person, &[]));
    let cookie = blocking(|| console.sign_in());
    let mut table = blocking(|| console.events(&cookie, "screen=clusters&q=granted"));
    blocking(|| table.until("hub", |it| it["state"] == "refused"));
    let accept = format!("/api/clusters/{name}/accept");
    let refused = blocking(|| console.write(&cookie, &accept, &json!({"dryRun": true})));
    assert_eq!(refused.code, 403, "{refused:?}");

    let binding = house.cluster.grant(&person, &role("accept")).await;
    blocking(|| table.until("window", |it| has(&it["rows"], &name)));
    let allowed = blocking(|| console.write(&cookie, &accept, &json!({"dryRun": true})));
    assert_eq!(allowed.code, 200, "{allowed:?}");

    let path = format!("{BINDINGS}/{binding}");
    house.admin.delete(&path).await.unwrap().ok();
    eventually("the refusal", async || {
        let asked = blocking(|| console.write(&cookie, &accept, &json!({"dryRun": true})));
        if asked.code == 403 {
            Ok(())
        } else {
            Err(asked)
        }
    })
    .await;
    let refused = blocking(|| console.write(&cookie, &accept, &json!({"dryRun": false})));
    assert_eq!(refused.code, 403, "{refused:?}");
    assert_ne!(accepts(&house, &name).await, true);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_admins_who_press_accept_at_once_both_succeed() {
    let house = House::shared().await;
    let name = fresh("pressed");
    house.managed_cluster(&name, &[]).await;
    let mut consoles = Vec::new();
    for _ in 0..2 {
        let admin = bound(house.cluster, "accept").await;
        let console = blocking(|| Console::start(&admin, &[]));
        let cookie = blocking(|| console.sign_in());
        consoles.push((console, cookie, admin));
    }
    let path = format!("/api/clusters/{name}/accept");
    let pressed = consoles.iter().map(|(console, cookie, _)| {
        let (port, cookie, path) = (console.port.clone(), cookie.clone(), path.clone());
        tokio::task::spawn_blocking(move || port.write(&cookie, &path, &json!({"dryRun": false})))
    });
    for answer in join_all(pressed).await {
        let answer = answer.unwrap();
        assert_eq!(answer.code, 200, "{answer:?}");
        let line = answer.body["done"][0].as_str().unwrap();
        assert!(
            line.contains("hubAcceptsClient") && line.contains(&name),
            "{line}"
        );
    }
    assert_eq!(accepts(&house, &name).await, true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_without_the_crds_is_told_with_what_installs_them() {
    let cluster = Cluster::start().await;
    let admin = cluster.admin().await;
    let console = blocking(|| Console::start(&admin, &[]));
    let cookie = blocking(|| console.sign_in());
    for screen in [
        "clusters",
        "fleet",
        "sets",
        "placements",
        "works",
        "requests",
    ] {
        let mut stream = blocking(|| console.events(&cookie, &format!("screen={screen}")));
        let hub = blocking(|| stream.until("hub", |it| it["state"] != "loading"));
        assert_eq!(hub["state"], "refused", "{screen}: {hub}");
        let remedy = hub["remedy"].as_str().unwrap();
        assert!(remedy.contains("berth init"), "{screen}: {hub}");
    }
    // Once they are there, an open page shows the hub.
    let mut table = blocking(|| console.events(&cookie, "screen=clusters"));
    cluster.apply_manifests(&CRDS).await;
    blocking(|| table.until("hub", |it| it["state"] == "connected"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_does_not_read_holds_up_nobody() {
    let house = House::shared().await;
    let name = fresh("flaps");
    house.managed_cluster(&name, &[]).await;
    let ada = bound(house.cluster, "console-reader").await;
    let console = blocking(|| Console::start(&ada, &[]));
    let cookie = blocking(|| console.sign_in());
    let query = format!("screen=clusters&q={name}");
    let mut silent = blocking(|| console.events(&cookie, &query));
    let mut reading = blocking(|| console.events(&cookie, &query));
    blocking(|| reading.until("window", |it| has(&it["rows"], &name)));
    let path = format!("{CLUSTERS}/{name}");
    for number in 0..300 {
        let labels = json!({"metadata": {"labels": {"n": number.to_string()}}});
        house.admin.merge(&path, &labels).await.unwrap().ok();
    }
    let accepted = json!({"spec": {"hubAcceptsClient": true}});
    house.admin.merge(&path, &accepted).await.unwrap().ok();
    let is_accepted = |it: &Value| it["rows"][0]["state"] == "accepted";
    blocking(|| reading.until("delta", is_accepted));
    // The one that was silent reads on, and has the last state, too.
    blocking(|| silent.until("delta", is_accepted));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_tabs_those_that_are_too_many_are_refused_in_words() {
    let house = House::shared().await;
    let console = blocking(|| Console::start(&house.admin, &[]));
    let cookie = blocking(|| console.sign_in());
    let mut open = Vec::new();
    let mut refused = Vec::new();
    for _ in 0..50 {
        let tcp = blocking(|| {
            let tcp = console.send(
                "GET",
                "/api/stream?screen=fleet",
                &[("cookie", &cookie)],
                "",
            );
            tcp.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            tcp
        });
        let mut head = [0; 12];
        blocking(|| std::io::Read::read_exact(&mut &tcp, &mut head)).unwrap();
        match &head {
            b"HTTP/1.0 200" => open.push(tcp),
            b"HTTP/1.0 429" => refused.push(tcp),
            _ => panic!("{}", String::from_utf8_lossy(&head)),
        }
    }
    assert_eq!((open.len(), refused.len()), (4, 46));
    let answer = blocking(|| console.get(&cookie, "/api/stream?screen=fleet"));
    assert_eq!(answer.refused(), (429, "TooManyStreams"));
    let remedy = answer.body["error"]["remedy"].as_str().unwrap();
    assert_eq!(remedy, "close other tabs of this console");
    // A tab that is closed makes room.
    drop(open.pop());
    eventually("room for a tab", async || {
        let mut line = String::new();
        let tcp = blocking(|| {
            console.send(
                "GET",
                "/api/stream?screen=fleet",
                &[("cookie", &cookie)],
                "",
            )
        });
        blocking(|| {
            std::io::BufRead::read_line(&mut std::io::BufReader::new(&tcp), &mut line).unwrap()
        });
        if line.contains(" 200 ") {
            Ok(())
        } else {
            Err(line)
        }
    })
    .await;
}
