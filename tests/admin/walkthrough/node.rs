//! A node of the managed cluster, which runs the agent as its Deployment says: with its arguments, its environment, its files and
//! its account. The hub for development runs no pods, and a kube-apiserver alone does not either.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::join::NAMESPACE;
use berth_testkit::cluster::janitor::Watched;
use berth_testkit::cluster::{Cluster, Person};
use berth_testkit::{Logged, berth, eventually};

const DEPLOYMENT: &str =
    "/apis/apps/v1/namespaces/open-cluster-management-agent/deployments/berth-agent";

/// The node.
pub struct Node<'c> {
    cluster: &'c Cluster,
    admin: Person,
    pod: Option<Running>,
}

/// A running pod.
struct Running {
    agent: Logged,
    _watched: Watched,
    _files: Files,
}

/// The folders that a pod mounts.
struct Files {
    root: TempDir,
    /// The names and the paths.
    mounts: Vec<(String, String)>,
}

impl<'c> Node<'c> {
    pub async fn of(cluster: &'c Cluster) -> Self {
        Self {
            cluster,
            admin: cluster.admin().await,
            pod: None,
        }
    }

    /// Waits for the Deployment, and starts the agent.
    pub async fn starts(&mut self) {
        eventually("the Deployment of the agent", async || {
            self.look().await;
            self.pod.is_some().then_some(()).ok_or("not there")
        })
        .await;
    }

    /// Starts or stops the agent if the Deployment says so.
    pub async fn look(&mut self) {
        let deployment = self.admin.get(DEPLOYMENT).await.unwrap();
        let wanted = deployment.code == 200 && deployment.body["spec"]["replicas"] != 0;
        if wanted == self.pod.is_some() {
            return;
        }
        match self.pod.take() {
            Some(Running { mut agent, .. }) => {
                agent.signal("TERM");
                assert!(agent.ended().await.success(), "{:?}", agent.log());
            }
            None => {
                let pod = &deployment.body["spec"]["template"]["spec"];
                self.pod = Some(self.start(pod).await);
            }
        }
        if deployment.code == 200 {
            let count = i32::from(wanted);
            let status = json!({"status": {
                "replicas": count, "readyReplicas": count, "availableReplicas": count,
            }});
            let path = format!("{DEPLOYMENT}/status");
            self.admin.merge(&path, &status).await.unwrap().ok();
        }
    }

    async fn start(&self, pod: &Value) -> Running {
        let (container, namespace) = (&pod["containers"][0], "open-cluster-management-agent");
        let files = self.mount(pod).await;
        let account = text(&pod["serviceAccountName"]);
        let account = self.cluster.service_account(namespace, account).await;
        let args: Vec<String> = list(&container["args"])
            .map(|it| files.on_this_machine(text(it)))
            .collect();
        let mut command = berth(&args.iter().map(String::as_str).collect::<Vec<_>>());
        // What a pod has in the folder of its account, and a port that is free.
        command
            .args(["--kubeconfig", account.kubeconfig.to_str().unwrap()])
            .args(["--namespace", namespace])
            .args(["--listen", "127.0.0.1:auto", "--log-format", "json"]);
        for variable in list(&container["env"]) {
            let value = variable["value"].as_str().unwrap_or("berth-agent-0");
            command.env(text(&variable["name"]), value);
        }
        let agent = Logged::start(command);
        Running {
            _watched: Watched::new(&agent.child),
            agent,
            _files: files,
        }
    }

    /// Makes the folders of a pod, with the files of its Secrets.
    async fn mount(&self, pod: &Value) -> Files {
        let mounts = list(&pod["containers"][0]["volumeMounts"]);
        let mounts = mounts.map(|it| {
            (
                text(&it["name"]).to_owned(),
                text(&it["mountPath"]).to_owned(),
            )
        });
        let files = Files {
            root: TempDir::new().unwrap(),
            mounts: mounts.collect(),
        };
        for volume in list(&pod["volumes"]) {
            let folder = files.folder_of(text(&volume["name"]));
            std::fs::create_dir_all(&folder).unwrap();
            let Some(secret) = volume["secret"]["secretName"].as_str() else {
                continue;
            };
            let path = format!("{NAMESPACE}/secrets/{secret}");
            let secret = self.admin.get(&path).await.unwrap();
            for (key, value) in secret.ok()["data"].as_object().unwrap() {
                let content = STANDARD.decode(text(value)).unwrap();
                std::fs::write(folder.join(key), content).unwrap();
            }
        }
        files
    }
}

// === impl Files ===

impl Files {
    /// The folder of a volume.
    fn folder_of(&self, name: &str) -> PathBuf {
        let mount = self.mounts.iter().find(|(it, _)| it == name);
        self.folder(&mount.unwrap().1)
    }

    /// An argument, with the folders of this machine.
    fn on_this_machine(&self, arg: &str) -> String {
        self.mounts.iter().fold(arg.to_owned(), |arg, (_, path)| {
            arg.replace(path, self.folder(path).to_str().unwrap())
        })
    }

    fn folder(&self, path: &str) -> PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}
