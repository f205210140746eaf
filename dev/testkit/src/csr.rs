//! CSRs as agents of clusters send them, and other CSRs.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, DnType, DnValue, KeyPair, SanType};
use serde_json::{Value, json};

use crate::cluster::{Person, fresh};

/// The path of all CSRs.
pub const CSRS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// The certificate signing request of an agent, as OCM's agent sends it.
pub struct Csr {
    /// Its name.
    pub name: String,
    /// The key that signed it.
    pub key: KeyPair,
    /// The object as it is sent.
    pub body: Value,
}

/// What a request asks for.
pub struct Asked<'a> {
    /// The CN: a user name.
    pub common_name: &'a str,
    /// The Os: groups. At most two.
    pub organizations: &'a [&'a str],
    /// DNS names.
    pub alternative_names: &'a [&'a str],
}

/// The user name of the agent.
pub fn user_of(cluster: &str, agent: &str) -> String {
    format!("system:open-cluster-management:{cluster}:{agent}")
}

/// The groups of a cluster's agents.
pub fn groups_of(cluster: &str) -> [String; 2] {
    [
        format!("system:open-cluster-management:{cluster}"),
        "system:open-cluster-management:managed-clusters".to_owned(),
    ]
}

// === impl Csr ===

impl Csr {
    /// A CSR of the agent with this name.
    pub fn new(cluster: &str, agent: &str) -> Self {
        let groups = groups_of(cluster);
        let asked = Asked {
            common_name: &user_of(cluster, agent),
            organizations: &groups.each_ref().map(String::as_str),
            alternative_names: &[],
        };
        Self::asking(cluster, &asked)
    }

    /// A CSR for any subject, with the label of this cluster.
    pub fn asking(cluster: &str, asked: &Asked<'_>) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        let subject = &mut params.distinguished_name;
        *subject = rcgen::DistinguishedName::new();
        // rcgen keeps one value of a type; by its number it is another type to it.
        let types = [
            DnType::OrganizationName,
            DnType::CustomDnType(vec![2, 5, 4, 10]),
        ];
        assert!(asked.organizations.len() <= types.len());
        for (type_, organization) in types.into_iter().zip(asked.organizations) {
            let value = DnValue::Utf8String((*organization).to_owned());
            subject.push(type_, value);
        }
        subject.push(DnType::CommonName, asked.common_name);
        params.subject_alt_names = asked
            .alternative_names
            .iter()
            .map(|name| SanType::DnsName((*name).try_into().unwrap()))
            .collect();
        let pem = params.serialize_request(&key).unwrap().pem().unwrap();
        let name = fresh("csr");
        let body = json!({
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {
                "name": name,
                "labels": {"open-cluster-management.io/cluster-name": cluster},
            },
            "spec": {
                "request": STANDARD.encode(pem),
                "signerName": "kubernetes.io/kube-apiserver-client",
                "usages": ["digital signature", "key encipherment", "client auth"],
            },
        });
        Self { name, key, body }
    }

    /// Creates it on the hub as this user.
    pub async fn sent_by(self, person: &Person) -> Self {
        let answer = person.post(CSRS, &self.body).await.unwrap();
        assert_eq!(answer.code, 201, "{answer:?}");
        self
    }

    /// Its path on the hub.
    pub fn path(&self) -> String {
        format!("{CSRS}/{}", self.name)
    }
}
