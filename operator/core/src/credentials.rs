//! The credentials in a Secret with a kubeconfig: without anything that would run a program, or read a file of this machine.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The key of the kubeconfig in its Secret.
const KUBECONFIG: &str = "kubeconfig";

/// The credentials for an API server.
#[derive(Clone, Debug, PartialEq)]
pub struct Credentials {
    /// A kubeconfig, which contains all that it needs.
    pub kubeconfig: String,
    /// The URL of its API server.
    pub server: String,
    /// The API server, as in a kubeconfig.
    pub cluster: Value,
}

/// Why a Secret gives no credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// It has no kubeconfig.
    Missing,
    /// The kubeconfig cannot be used, for this reason.
    Kubeconfig(String),
}

/// Why another cluster cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unprepared {
    /// Nobody answers there, or there is no kubeconfig: it may not exist any more.
    pub is_away: bool,
    /// For users.
    pub why: String,
}

/// Fields with the name of a file, and those with its content.
const FILES: [(&str, &str); 3] = [
    ("certificate-authority", "certificate-authority-data"),
    ("client-certificate", "client-certificate-data"),
    ("client-key", "client-key-data"),
];

/// What else of a cluster and of a user is used.
pub(crate) const OF_CLUSTER: [&str; 4] = [
    "server",
    "insecure-skip-tls-verify",
    "tls-server-name",
    "proxy-url",
];
const OF_USER: [&str; 3] = ["token", "username", "password"];

/// What a user may have that the operator does not use: it would run a program of another's choice.
const PROGRAMS: [&str; 2] = ["exec", "auth-provider"];

/// Returns the credentials in `data` of a Secret, decoded. `encode`: in base64.
///
/// # Errors
/// There are none that the operator may use.
pub fn credentials(
    data: &BTreeMap<String, Vec<u8>>,
    encode: fn(&[u8]) -> String,
) -> Result<Credentials, Unusable> {
    let text = data.get(KUBECONFIG).filter(|it| !it.is_empty());
    let text = text.ok_or(Unusable::Missing)?;
    of_kubeconfig(text, data, encode).map_err(Unusable::Kubeconfig)
}

fn of_kubeconfig(
    text: &[u8],
    data: &BTreeMap<String, Vec<u8>>,
    encode: fn(&[u8]) -> String,
) -> Result<Credentials, String> {
    let config: Value =
        serde_saphyr::from_slice(text).map_err(|_| "it is not a kubeconfig".to_owned())?;
    let name = |it: &Value| it.as_str().map(str::to_owned);
    let current = name(&config["current-context"]).unwrap_or_default();
    let context = named(&config["contexts"], &current, "context")
        .ok_or_else(|| format!("it has no current context {current:?}"))?;
    let cluster = name(&context["cluster"]).unwrap_or_default();
    let cluster = named(&config["clusters"], &cluster, "cluster")
        .ok_or_else(|| format!("it has no cluster {cluster:?}"))?;
    let user = name(&context["user"]).unwrap_or_default();
    let user = named(&config["users"], &user, "user");
    for program in PROGRAMS {
        if user.is_some_and(|it| !it[program].is_null()) {
            return Err(format!(
                "its user has {program}, which the operator does not run"
            ));
        }
    }
    let server = name(&cluster["server"]).filter(|it| !it.is_empty());
    let server = server.ok_or("its cluster has no server")?;
    let kept = |of: &Value, fields: &[&str]| -> Result<Value, String> {
        let mut kept = Map::new();
        for field in fields {
            if !of[*field].is_null() {
                kept.insert((*field).to_owned(), of[*field].clone());
            }
        }
        for (file, content) in FILES {
            if let Some(text) = name(&of[content]).filter(|it| !it.is_empty()) {
                kept.insert(content.to_owned(), json!(text));
            } else if let Some(path) = name(&of[file]).filter(|it| !it.is_empty()) {
                // The agent has the Secret's keys as files beside the kubeconfig.
                let key = path.rsplit('/').next().unwrap_or_default();
                let value = data.get(key);
                let value = value.ok_or_else(|| format!("{file} {path:?} is not in the Secret"))?;
                kept.insert(content.to_owned(), json!(encode(value)));
            }
        }
        Ok(Value::Object(kept))
    };
    let cluster = kept(cluster, &OF_CLUSTER)?;
    let user = kept(user.unwrap_or(&Value::Null), &OF_USER)?;
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "hub",
        "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "agent"}}],
        "clusters": [{"name": "hub", "cluster": cluster}],
        "users": [{"name": "agent", "user": user}],
    });
    Ok(Credentials {
        cluster: kubeconfig["clusters"][0]["cluster"].clone(),
        kubeconfig: kubeconfig.to_string(),
        server,
    })
}

/// The element of a kubeconfig's list that has this name.
pub(crate) fn named<'v>(list: &'v Value, name: &str, field: &str) -> Option<&'v Value> {
    let mut elements = list.as_array()?.iter();
    Some(&elements.find(|it| it["name"] == name)?[field])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(user: &str, cluster: &str) -> Result<Value, Unusable> {
        let kubeconfig = format!(
            "{{current-context: c, contexts: [{{name: c, context: {{cluster: h, user: u}}}}], \
             clusters: [{{name: h, cluster: {cluster}}}], users: [{{name: u, user: {user}}}]}}"
        );
        let data = BTreeMap::from([
            ("kubeconfig".to_owned(), kubeconfig.into_bytes()),
            ("tls.crt".to_owned(), b"crt".to_vec()),
            ("tls.key".to_owned(), b"key".to_vec()),
        ]);
        let encode = |it: &[u8]| format!("b64:{}", String::from_utf8_lossy(it));
        let found = credentials(&data, encode)?;
        assert_eq!(found.server, "https://h");
        Ok(serde_json::from_str(&found.kubeconfig).unwrap())
    }

    #[test]
    fn what_a_kubeconfig_says_is_kept() {
        let config = read(
            "{client-certificate: tls.crt, client-key: /spoke/hub-kubeconfig/tls.key}",
            "{server: 'https://h', certificate-authority-data: Q0E=, proxy-url: 'http://p'}",
        );
        let config = config.unwrap();
        assert_eq!(
            config["users"][0]["user"],
            json!({"client-certificate-data": "b64:crt", "client-key-data": "b64:key"})
        );
        assert_eq!(
            config["clusters"][0]["cluster"],
            json!({"server": "https://h", "certificate-authority-data": "Q0E=", "proxy-url": "http://p"})
        );
        let config = read("{token: t}", "{server: 'https://h'}").unwrap();
        assert_eq!(config["users"][0]["user"], json!({"token": "t"}));
    }

    #[test]
    fn nothing_is_run_and_no_file_is_read() {
        for (user, cluster, why) in [
            (
                "{exec: {command: sh}}",
                "{server: 'https://h'}",
                "its user has exec, which the operator does not run",
            ),
            (
                "{auth-provider: {name: x}}",
                "{server: 'https://h'}",
                "its user has auth-provider, which the operator does not run",
            ),
            (
                "{client-key: /etc/shadow}",
                "{server: 'https://h'}",
                "client-key \"/etc/shadow\" is not in the Secret",
            ),
            (
                "{}",
                "{server: 'https://h', certificate-authority: ../ca}",
                "certificate-authority \"../ca\" is not in the Secret",
            ),
            ("{}", "{}", "its cluster has no server"),
        ] {
            let found = read(user, cluster);
            assert_eq!(found, Err(Unusable::Kubeconfig(why.to_owned())));
        }
        // Not used, so nobody reads it.
        let config = read(
            "{tokenFile: /var/run/secrets/token}",
            "{server: 'https://h'}",
        )
        .unwrap();
        assert_eq!(config["users"][0]["user"], json!({}));
    }

    #[test]
    fn without_a_kubeconfig_there_are_none() {
        let encode = |_: &[u8]| String::new();
        let empty = BTreeMap::new();
        assert_eq!(credentials(&empty, encode), Err(Unusable::Missing));
        for (text, why) in [
            ("[", "it is not a kubeconfig"),
            ("{}", "it has no current context \"\""),
            (
                "{current-context: c, contexts: [{name: c, context: {cluster: h}}]}",
                "it has no cluster \"h\"",
            ),
        ] {
            let data = BTreeMap::from([("kubeconfig".to_owned(), text.as_bytes().to_vec())]);
            let found = credentials(&data, encode);
            assert_eq!(found, Err(Unusable::Kubeconfig(why.to_owned())), "{text}");
        }
    }
}
