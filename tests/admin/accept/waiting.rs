//! `berth accept --wait`: CSRs that are created while it waits.

use serde_json::Value;

use super::{bootstrap, cluster_path, fingerprint, is_pending, joins, may_send};
use crate::house::House;
use crate::terminal::at_a_terminal;
use berth_testkit::cluster::fresh;
use berth_testkit::csr::Csr;

#[tokio::test]
async fn with_wait_it_waits_for_all_that_is_still_to_come() {
    let house = House::shared().await;
    let name = fresh("late");
    let sender = bootstrap(&house).await;
    let command = format!("accept {name} --wait --timeout 60 --yes");
    let steps = async {
        house.managed_cluster(&name, &[]).await;
        let path = cluster_path(&name);
        house
            .once(&path, "accepted", |it| {
                it["spec"]["hubAcceptsClient"] == true
            })
            .await;
        let csr = Csr::new(&name, "agent1").sent_by(&sender).await;
        house
            .once(&csr.path(), "approved", |it| {
                it["status"]["conditions"][0]["type"] == "Approved"
            })
            .await;
        joins(&house, &name).await;
        csr
    };
    let (output, csr) = tokio::join!(house.berth(&command), steps);
    let said: Vec<&str> = output.ok().lines().collect();
    let [accepted, approved, joined] = said[..] else {
        panic!("{output:?}");
    };
    assert_eq!(
        accepted,
        format!("set hubAcceptsClient to true for managed cluster {name}")
    );
    let start = format!("CSR {} approved: sent ", csr.name);
    assert!(approved.starts_with(&start), "{approved}");
    assert_eq!(
        joined,
        format!("Your managed cluster {name} has joined the Hub successfully.")
    );
    // A line for each change, of which not all need be met.
    assert!(
        output.stderr.lines().all(|line| {
            line.starts_with(&format!("{name}: waiting: ")) || line.starts_with("Warning: ")
        }),
        "{output:?}"
    );
}

/// Who has a bootstrap token can send a request for a cluster at the very moment that its admin waits for it.
#[tokio::test]
async fn what_comes_while_it_waits_is_approved_by_its_key_or_not_at_all() {
    let house = House::shared().await;
    let [name, named] = [(); 2].map(|()| fresh("watched"));
    let sender = bootstrap(&house).await;
    let accepted = async |name: &str| {
        house.managed_cluster(name, &[]).await;
        let path = cluster_path(name);
        let is = |it: &Value| it["spec"]["hubAcceptsClient"] == true;
        house.once(&path, "accepted", is).await;
    };

    // Nobody is there to be asked.
    let command = format!("accept {name} --wait --timeout 60");
    let steps = async {
        accepted(&name).await;
        Csr::new(&name, "agent1").sent_by(&sender).await
    };
    let (output, csr) = tokio::join!(house.berth(&command), steps);
    let key = fingerprint(&csr);
    let told = format!(
        "Error: {name}: CSR {} is not approved: it arrived after this command started, and no terminal is available to ask on: sent ",
        csr.name
    );
    assert!(output.failed().contains(&told), "{output:?}");
    let remedy = format!(
        ", key {key}; add --fingerprint {key} to approve this key, or --yes to approve any key\n"
    );
    assert!(output.failed().contains(&remedy), "{output:?}");
    assert!(is_pending(&house, &csr).await);
    // Once it is there, it is known.
    let line = format!("accept {name} --wait --timeout 1500ms");
    let output = house.berth(&line).await;
    let approved = format!("CSR {} approved: ", csr.name);
    assert!(output.stdout.contains(&approved), "{output:?}");

    // The key was named before; another one waits, whoever sends it.
    let right = Csr::new(&named, "agent1");
    let key = fingerprint(&right);
    let command = format!("accept {named} --wait --timeout 60 --fingerprint {key}");
    let steps = async {
        accepted(&named).await;
        let wrong = Csr::new(&named, "agent1").sent_by(&sender).await;
        let right = right.sent_by(&sender).await;
        let is = |it: &Value| it["status"]["conditions"][0]["type"] == "Approved";
        house.once(&right.path(), "approved", is).await;
        joins(&house, &named).await;
        (wrong, right)
    };
    let (output, (wrong, right)) = tokio::join!(house.berth(&command), steps);
    let approved = format!("CSR {} approved: ", right.name);
    assert!(output.ok().contains(&approved), "{output:?}");
    assert!(is_pending(&house, &wrong).await);
    house
        .stage()
        .with("c", &named)
        .with("csr", &wrong.name)
        .with("right", &right.name)
        .with("key", &key)
        .plays(
            "
$ berth accept {c} --fingerprint {key}
hubAcceptsClient already set for managed cluster {c}
CSR {right} already approved
CSR {csr} is not approved: the cluster has already joined, [..]
Your managed cluster {c} has joined the Hub successfully.
$ berth accept {c} --fingerprint SHA256:00
error: invalid value 'SHA256:00' for '--fingerprint <SHA256:HEX,...>': expected SHA256: and 64 hexadecimal digits
...
? 2
",
        )
        .await;
}

#[tokio::test]
async fn at_a_terminal_it_asks_about_what_came_while_it_waited() {
    let house = House::shared().await;
    let sender = bootstrap(&house).await;
    for (typed, approves) in [("y\n", true), ("n\n", false)] {
        let name = fresh("asked");
        let args = ["accept", &name, "--wait", "--timeout", "60"];
        let command = house.admin.berth_command(&args);
        let steps = async {
            house.managed_cluster(&name, &[]).await;
            let path = cluster_path(&name);
            let is = |it: &Value| it["spec"]["hubAcceptsClient"] == true;
            house.once(&path, "accepted", is).await;
            let csr = Csr::new(&name, "agent1").sent_by(&sender).await;
            if approves {
                let is = |it: &Value| it["status"]["conditions"][0]["type"] == "Approved";
                house.once(&csr.path(), "approved", is).await;
                joins(&house, &name).await;
            }
            csr
        };
        let ((seen, code), csr) = tokio::join!(at_a_terminal(command, 80, typed), steps);
        let key = fingerprint(&csr);
        assert!(
            seen.contains(&format!(
                "CSR {} arrived after this command started: sent ",
                csr.name
            )),
            "{seen}"
        );
        assert!(seen.contains(&key), "{seen}");
        let question = format!("Approve it for managed cluster {name}? [y/N] ");
        assert_eq!(seen.matches(&question).count(), 1, "{seen}");
        assert_eq!(code, i32::from(!approves), "{seen}");
        assert_eq!(is_pending(&house, &csr).await, !approves);
        let refused =
            "is not approved: it arrived after this command started, and you did not agree";
        assert_eq!(seen.contains(refused), !approves, "{seen}");
    }
}

#[tokio::test]
async fn when_the_time_is_up_it_says_what_is_missing() {
    let house = House::shared().await;
    let [absent, silent, other, joining] = [(); 4].map(|()| fresh("timeout"));
    for name in [&silent, &other, &joining] {
        house.managed_cluster(name, &[]).await;
    }
    let dev = house.cluster.user(&fresh("dev"), &[]).await;
    may_send(&house, &dev).await;
    let wrong = Csr::new(&other, "agent1").sent_by(&dev).await;
    Csr::new(&joining, "agent1")
        .sent_by(&bootstrap(&house).await)
        .await;
    let output = house
        .berth(&format!(
            "accept {absent} {silent} {other} {joining} --wait --timeout 1500ms"
        ))
        .await;
    let told = |name: &str, what: &str| {
        let line = format!("Error: {name}: timed out after 1.5s: {what}");
        assert!(output.failed().contains(&line), "{line}: {output:?}");
        let line = format!("{name}: waiting: {what}");
        let lines = output.stderr.lines().filter(|it| it.starts_with(&line));
        assert_eq!(lines.count(), 1, "{line}: {output:?}");
    };
    told(&absent, "the ManagedCluster does not exist");
    told(&silent, "its agent has not sent a CSR yet");
    told(
        &other,
        &format!(
            "no CSR can be approved: CSR {} is not approved: its sender",
            wrong.name
        ),
    );
    told(&joining, "its agent has not joined yet");

    // A narrow terminal has one line, which is rewritten, and wiped in the end.
    let args = ["accept", &silent, "--wait", "--timeout", "1500ms"];
    let (seen, code) = at_a_terminal(house.admin.berth_command(&args), 40, "").await;
    assert_eq!(code, 1, "{seen}");
    let drawn: Vec<&str> = seen
        .split('\r')
        .filter(|it| it.starts_with("Waiting ("))
        .collect();
    assert!(drawn.len() >= 2, "{seen:?}");
    for line in drawn {
        let line = line
            .strip_suffix("\u{1b}[K")
            .unwrap_or_else(|| panic!("{seen:?}"));
        assert_eq!(line.chars().count(), 39, "{seen:?}");
    }
    assert!(seen.contains("\r\u{1b}[KError: "), "{seen:?}");
}
