//! Trees in clusteradm's format.

use std::io::{self, Write};

use super::plain;

/// A named value and its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    name: String,
    value: String,
    below: Vec<Node>,
}

// === impl Node ===

impl Node {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self::leaf(name, "")
    }

    pub(crate) fn leaf(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            below: Vec::new(),
        }
    }

    pub(crate) fn with(mut self, child: Self) -> Self {
        self.below.push(child);
        self
    }

    pub(crate) fn push(&mut self, child: Self) {
        self.below.push(child);
    }

    /// Writes `<name> value`, and below it the children with connecting lines.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        self.line(out, "")?;
        self.children(out, "")
    }

    fn line(&self, out: &mut impl Write, lead: &str) -> io::Result<()> {
        let line = format!("{lead}<{}> {}", plain(&self.name), plain(&self.value));
        writeln!(out, "{}", line.trim_end())
    }

    fn children(&self, out: &mut impl Write, lead: &str) -> io::Result<()> {
        for (index, child) in self.below.iter().enumerate() {
            let last = index + 1 == self.below.len();
            let (connector, further) = if last {
                ("└── ", "    ")
            } else {
                ("├── ", "│   ")
            };
            child.line(out, &format!("{lead}{connector}"))?;
            child.children(out, &format!("{lead}{further}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_leads_to_its_parent() {
        let set = |name: &str| {
            Node::new(name)
                .with(Node::leaf("BoundNamespace", "a,b"))
                .with(Node::leaf("Status", "x"))
        };
        let tree = Node::new("ManagedClusterSet")
            .with(set("default"))
            .with(set("global"));
        let mut out = Vec::new();
        tree.write(&mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "<ManagedClusterSet>\n\
             ├── <default>\n\
             │   ├── <BoundNamespace> a,b\n\
             │   └── <Status> x\n\
             └── <global>\n    \
                 ├── <BoundNamespace> a,b\n    \
                 └── <Status> x\n"
        );
    }
}
