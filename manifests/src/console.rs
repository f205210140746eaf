//! The console in a pod: what its values add to a hub.

use serde_json::{Value, json};

use crate::files::{CONSOLE, CONSOLE_ACCOUNT, CONSOLE_IMPERSONATION_ROLE, CONSOLE_SERVICE};
use crate::hub::{Hub, container, documents};
use crate::rendered::{Preset, pulled, push, shape};
use crate::values::{Console, HubValues, Impersonation, Size};

/// Below this folder are the Secrets and ConfigMaps that values name.
const FOLDER: &str = "/var/run/secrets/console";

/// A file of a Secret or a ConfigMap, as a volume of the pod.
struct Mounted {
    /// The name of the volume, and of its folder.
    folder: &'static str,
    source: Value,
}

// === impl Hub ===

impl Hub {
    pub(crate) fn with_console(&mut self, values: &HubValues, image: &str) {
        let console = &values.console;
        self.foundation
            .extend(documents(&[CONSOLE_ACCOUNT, CONSOLE_SERVICE]));
        if console.impersonation.enabled {
            self.foundation.extend(role(&console.impersonation));
        }
        for mut deployment in CONSOLE.documents() {
            container(&mut deployment)["image"] = json!(image);
            shape(&mut deployment, &console.pods, &preset(values.size));
            pulled(
                &mut deployment,
                values.image.pull_policy,
                &values.image_pull_secrets,
            );
            let args = &mut container(&mut deployment)["args"];
            *args = json!(["console", "--serve"]);
            push(args, console.args());
            push(args, console.pods.extra_args.iter().cloned());
            if console.impersonation.enabled {
                with_token(&mut deployment);
            }
            for mounted in console.mounted() {
                mounted.into_pod(&mut deployment);
            }
            self.workloads.push(deployment);
        }
    }
}

// === impl Console ===

impl Console {
    /// The flags of `berth console --serve`.
    fn args(&self) -> Vec<String> {
        let mut args = vec![format!("--public-url={}", self.public_url)];
        let mut add = |is_set: bool, flag: String| args.extend(is_set.then_some(flag));
        add(self.read_only, "--read-only".to_owned());
        add(self.insecure_http, "--insecure-http".to_owned());
        let tls = !self.tls_secret_name.is_empty();
        add(tls, format!("--cert-dir={FOLDER}/tls"));
        let oidc = &self.oidc;
        let has_a_provider = !oidc.issuer_url.is_empty();
        if has_a_provider {
            add(true, format!("--oidc-issuer-url={}", oidc.issuer_url));
            add(true, format!("--oidc-client-id={}", oidc.client_id));
            let secret = format!("--oidc-client-secret-file={FOLDER}/oidc/client-secret");
            add(!oidc.client_secret_name.is_empty(), secret);
            let ca = format!("--oidc-ca-file={FOLDER}/oidc-ca/ca.crt");
            add(!oidc.ca_config_map.is_empty(), ca);
            for scope in &oidc.extra_scopes {
                add(true, format!("--oidc-extra-scope={scope}"));
            }
            add(!self.tokens, "--without-tokens".to_owned());
        }
        let proxy = &self.impersonation;
        if proxy.enabled {
            for (flag, value) in [
                ("client-ca-file", format!("{FOLDER}/proxy/ca.crt")),
                ("allowed-names", proxy.allowed_names.join(",")),
                ("username-headers", proxy.username_headers.join(",")),
                ("group-headers", proxy.group_headers.join(",")),
            ] {
                add(true, format!("--requestheader-{flag}={value}"));
            }
            let separator = &proxy.group_separator;
            let flag = format!("--requestheader-group-separator={separator}");
            add(!separator.is_empty(), flag);
        }
        args
    }

    fn mounted(&self) -> Vec<Mounted> {
        let mut mounted = Vec::new();
        let mut mount = |folder, name: &str, source| {
            mounted.extend((!name.is_empty()).then_some(Mounted { folder, source }));
        };
        // The group of the console's user may read them, and nobody else (0440).
        let secret = |name: &str| json!({"secret": {"secretName": name, "defaultMode": 0o440}});
        mount("tls", &self.tls_secret_name, secret(&self.tls_secret_name));
        let oidc = &self.oidc;
        let name = &oidc.client_secret_name;
        mount("oidc", name, secret(name));
        let name = &oidc.ca_config_map;
        mount("oidc-ca", name, json!({"configMap": {"name": name}}));
        if self.impersonation.enabled {
            let name = &self.impersonation.client_ca_secret;
            let items = json!([{"key": "ca.crt", "path": "ca.crt"}]);
            let ca = json!({"secret": {"secretName": name, "items": items}});
            mount("proxy", name, ca);
        }
        mounted
    }
}

// === impl Mounted ===

impl Mounted {
    fn into_pod(self, deployment: &mut Value) {
        let Self { folder, mut source } = self;
        source["name"] = json!(folder);
        let mount = json!({
            "name": folder, "mountPath": format!("{FOLDER}/{folder}"), "readOnly": true,
        });
        if let Some(mounts) = container(deployment)["volumeMounts"].as_array_mut() {
            mounts.push(mount);
        }
        if let Some(volumes) = deployment["spec"]["template"]["spec"]["volumes"].as_array_mut() {
            volumes.push(source);
        }
    }
}

/// `overlays/console-impersonation`: who impersonates is authenticated. The kubelet renews the token.
fn with_token(deployment: &mut Value) {
    let volume = &mut deployment["spec"]["template"]["spec"]["volumes"][0];
    if let Some(sources) = volume["projected"]["sources"].as_array_mut() {
        sources.push(json!({"serviceAccountToken": {"expirationSeconds": 600, "path": "token"}}));
    }
}

/// The role, for the users and groups that are named, if any are.
fn role(impersonation: &Impersonation) -> Vec<Value> {
    let mut objects = CONSOLE_IMPERSONATION_ROLE.documents();
    let Impersonation { users, groups, .. } = impersonation;
    for rule in objects
        .iter_mut()
        .filter_map(|it| it.get_mut("rules")?.as_array_mut())
        .flatten()
    {
        let names = match rule["resources"][0].as_str() {
            Some("users") => users,
            _ => groups,
        };
        if !names.is_empty() {
            rule["resourceNames"] = json!(names);
        }
    }
    objects
}

/// Resources by size: a user with an open page costs about 30 MiB with 10,000 clusters (docs/performance.md).
fn preset(size: Size) -> Preset {
    let (cpu, memory, limit) = match size {
        Size::Small => ("10m", "32Mi", "256Mi"),
        Size::Medium => ("20m", "64Mi", "512Mi"),
        Size::Large => ("50m", "128Mi", "2Gi"),
    };
    Preset {
        replicas: 1,
        cpu,
        memory,
        limit,
    }
}
