//! `berth get` in a pipe: it writes rows one by one, and ends when the reader ends.

use std::io::{BufRead, BufReader, Read};
use std::ops::Deref;
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::{bindings_path, name};
use crate::house::{CLUSTERS, House, SETS};
use berth_testkit::cluster::janitor::Watched;
use berth_testkit::cluster::{Cluster, Person};
use berth_testkit::eventually;
use berth_testkit::transcript::words;

/// What nothing here takes longer than, unless it never comes.
const PATIENCE: Duration = Duration::from_secs(40);

/// A running `berth get --watch`.
struct Running {
    child: Child,
    lines: Option<Receiver<String>>,
    _watched: Watched,
}

impl Running {
    fn start(person: &Person, line: &str) -> Self {
        let words = words(line);
        let args: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = person.berth_command(&args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _watched = Watched::new(&child);
        let lines = Some(read(child.stdout.take().unwrap()));
        Self {
            child,
            lines,
            _watched,
        }
    }

    #[track_caller]
    fn raw_line(&self) -> String {
        let lines = self.lines.as_ref().unwrap();
        lines.recv_timeout(PATIENCE).unwrap()
    }

    /// The next line, its columns by one space.
    #[track_caller]
    fn line(&self) -> String {
        let line = self.raw_line();
        let columns: Vec<&str> = line.split_whitespace().collect();
        columns.join(" ")
    }

    /// Nobody reads any more. Returns, when it has ended, its exit code and what it complained of; `change` makes it write.
    async fn closed(&mut self, mut change: impl AsyncFnMut()) -> (i32, String) {
        drop(self.lines.take());
        let code = eventually("the end of the command", async || {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Ok(status.code().unwrap_or(-1));
            }
            change().await;
            Err("it still runs")
        })
        .await;
        let mut said = String::new();
        let stderr = self.child.stderr.as_mut().unwrap();
        stderr.read_to_string(&mut said).unwrap();
        (code, said)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lines as they come. The reader goes when the receiver does, but not before one more line.
fn read(stdout: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            if sender.send(line.unwrap()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Changes whether a cluster is accepted.
async fn accept<C: Deref<Target = Cluster>>(house: &House<C>, cluster: &str, accepted: bool) {
    let patch = json!({"spec": {"hubAcceptsClient": accepted}});
    let path = format!("{CLUSTERS}/{cluster}");
    house.admin.merge(&path, &patch).await.unwrap().ok();
}

/// Changes a label of a cluster.
async fn label<C: Deref<Target = Cluster>>(
    house: &House<C>,
    cluster: &str,
    key: &str,
    value: &str,
) {
    let patch = json!({"metadata": {"labels": {key: value}}});
    let path = format!("{CLUSTERS}/{cluster}");
    house.admin.merge(&path, &patch).await.unwrap().ok();
}

#[tokio::test]
async fn a_row_appears_when_a_cluster_is_accepted() {
    let house = House::shared().await;
    let (group, c1, c2) = (name("g"), name("c"), name("d"));
    house.managed_cluster(&c1, &[("get", &group)]).await;
    let mut running = Running::start(&house.admin, &format!("get clusters -l get={group} -w"));
    assert_eq!(
        running.line(),
        "NAME ACCEPTED AVAILABLE CLUSTERSET CPU MEMORY KUBERNETES VERSION"
    );
    assert_eq!(running.line(), format!("{c1} false default"));
    accept(&house, &c1, true).await;
    assert_eq!(running.line(), format!("{c1} true default"));
    house.managed_cluster(&c2, &[("get", &group)]).await;
    assert_eq!(running.line(), format!("{c2} false default"));
    // One that leaves is shown once more, as kubectl does.
    label(&house, &c1, "get", "other").await;
    assert_eq!(running.line(), format!("{c1} true default"));
    let mut accepted = false;
    let ended = running.closed(async || {
        accepted = !accepted;
        accept(&house, &c2, accepted).await;
    });
    assert_eq!(ended.await, (141, String::new()));
}

#[tokio::test]
async fn the_first_row_of_a_watch_brings_the_titles() {
    let house = House::shared().await;
    let (group, other, c1) = (name("g"), name("c"), name("d"));
    let mut running = Running::start(
        &house.admin,
        &format!("get clusters -l get={group} --watch -o wide"),
    );
    let mut said = BufReader::new(running.child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "No clusters found.\n");
    house.managed_cluster(&other, &[]).await;
    house.managed_cluster(&c1, &[("get", &group)]).await;
    assert!(running.line().starts_with("NAME ACCEPTED AVAILABLE"));
    assert!(
        running
            .line()
            .starts_with(&format!("{c1} false default NotAccepted"))
    );
}

#[tokio::test]
async fn members_of_a_set_are_watched_as_they_come_and_go() {
    let house = House::shared().await;
    let (set, c1, c2) = (name("s"), name("c"), name("d"));
    let selector = json!({"matchLabels": {"get": set}});
    let spec =
        json!({"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": selector}});
    house.set(&set, &json!({}), &spec).await;
    house.managed_cluster(&c1, &[("get", &set)]).await;
    house.managed_cluster(&c2, &[]).await;
    let line = format!("get clusters --clusterset {set} --no-headers -w");
    let running = Running::start(&house.admin, &line);
    assert_eq!(running.line(), format!("{c1} false default"));
    label(&house, &c2, "get", &set).await;
    assert_eq!(running.line(), format!("{c2} false default"));
    label(&house, &c1, "get", "other").await;
    assert_eq!(running.line(), format!("{c1} false default"));
    accept(&house, &c1, true).await;
    accept(&house, &c2, true).await;
    assert_eq!(running.line(), format!("{c2} true default"));
}

#[tokio::test]
async fn named_clusters_are_watched_as_objects() {
    let house = House::shared().await;
    let (c1, c2, c3) = (name("c"), name("d"), name("e"));
    for cluster in [&c1, &c2, &c3] {
        house.managed_cluster(cluster, &[]).await;
    }
    let of_one = Running::start(&house.admin, &format!("get clusters {c1} -w -o name"));
    let of_two = Running::start(&house.admin, &format!("get clusters {c3} {c1} -w -o json"));
    // Lines of JSON, up to the end of an object.
    let object = || {
        let mut text = String::new();
        while !text.ends_with("\n}\n") {
            text += &of_two.raw_line();
            text += "\n";
        }
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let name_of_c1 = format!("managedcluster.cluster.open-cluster-management.io/{c1}");
    assert_eq!(of_one.line(), name_of_c1);
    assert_eq!(object()["metadata"]["name"], *c3);
    assert_eq!(object()["metadata"]["name"], *c1);
    for cluster in [&c2, &c1] {
        accept(&house, cluster, true).await;
    }
    assert_eq!(of_one.line(), name_of_c1);
    // The hub writes them for reasons of its own, too.
    loop {
        let object = object();
        assert_ne!(object["metadata"]["name"], *c2);
        if object["spec"]["hubAcceptsClient"] == true {
            assert_eq!(object["metadata"]["name"], *c1);
            return;
        }
    }
}

#[tokio::test]
async fn a_set_is_shown_again_when_it_is_bound_and_when_a_cluster_joins() {
    let house = House::shared().await;
    let (set, cluster, namespace) = (name("s"), name("c"), name("n"));
    house.set(&set, &json!({}), &json!({})).await;
    house.managed_cluster(&cluster, &[]).await;
    house.namespace(&namespace).await;
    house.set_says(&set, "No ManagedCluster selected").await;
    let line = format!("get clustersets {set} -w --no-headers");
    let narrow = Running::start(&house.admin, &line);
    let mut wide = Running::start(&house.admin, &format!("{line} -o wide"));
    let none = format!("{set} No ManagedCluster selected");
    assert_eq!(narrow.line(), none);
    assert!(wide.line().starts_with(&none));
    house.bind(&namespace, &set, &json!({})).await;
    let none = format!("{set} {namespace} No ManagedCluster selected");
    assert_eq!(narrow.line(), none);
    assert!(wide.line().starts_with(&none));
    let key = "cluster.open-cluster-management.io/clusterset";
    label(&house, &cluster, key, &set).await;
    let one = format!("{set} {namespace} 1 ManagedClusters selected");
    assert_eq!(narrow.line(), one);
    // The cluster and the set's status change one after the other.
    let mut rows = vec![wide.line()];
    while !(rows[rows.len() - 1].starts_with(&one) && rows[rows.len() - 1].contains(&cluster)) {
        rows.push(wide.line());
    }
    assert!(rows.len() <= 2, "{rows:?}");
    house
        .admin
        .delete(&format!("{}/{set}", bindings_path(&namespace)))
        .await
        .unwrap()
        .ok();
    assert_eq!(narrow.line(), format!("{set} 1 ManagedClusters selected"));
    label(&house, &cluster, key, "default").await;
    let none = format!("{set} No ManagedCluster selected");
    assert_eq!(narrow.line(), none);
    // One that is gone is shown once more, as kubectl does.
    let path = format!("{SETS}/{set}");
    house.admin.delete(&path).await.unwrap().ok();
    assert_eq!(narrow.line(), none);
    let mut there = false;
    let ended = wide.closed(async || {
        there = !there;
        if there {
            house.set(&set, &json!({}), &json!({})).await;
        } else {
            house.admin.delete(&path).await.unwrap().ok();
        }
    });
    assert_eq!(ended.await, (141, String::new()));
}

#[tokio::test]
async fn a_binding_is_shown_again_when_it_is_in_force() {
    let house = House::shared().await;
    let (set, namespace) = (name("s"), name("n"));
    house.namespace(&namespace).await;
    house.bind(&namespace, &set, &json!({})).await;
    let line = format!("get bindings -n {namespace} {set} -w");
    let running = Running::start(&house.admin, &line);
    assert_eq!(running.line(), "NAME CLUSTERSET BOUND REASON AGE");
    let row = running.line();
    assert!(
        row.starts_with(&format!("{set} {set} False ClusterSetNotFound ")),
        "{row}"
    );
    house.set(&set, &json!({}), &json!({})).await;
    let row = running.line();
    assert!(
        row.starts_with(&format!("{set} {set} True ClusterSetBound ")),
        "{row}"
    );
}

#[tokio::test]
async fn a_closed_pipe_ends_it_without_a_word() {
    let house = House::shared().await;
    let (label, set, cluster, namespace) = (name("l"), name("s"), name("c"), name("n"));
    house.set(&set, &json!({"get": label}), &json!({})).await;
    house.managed_cluster(&cluster, &[("get", &label)]).await;
    house.namespace(&namespace).await;
    house.bind(&namespace, &set, &json!({"get": label})).await;
    for kind in ["clusters", "clustersets", "bindings"] {
        for format in ["table", "wide", "tree", "json", "yaml", "name"] {
            let line = format!("get {kind} -l get={label} -o {format}");
            let mut command = house
                .admin
                .berth_command(&line.split(' ').collect::<Vec<_>>());
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            command.stdout(writer).stderr(Stdio::piped());
            let output = tokio::task::spawn_blocking(move || command.output()).await;
            let output = output.unwrap().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!((output.status.code(), &*said), (Some(141), ""), "{line}");
        }
    }
}
