//! How a kind names tools: one by its name, all of a connected server by `mcp__server`, those of all
//! servers by `mcp`, and any others by `*` for any characters and `?` for one.

/// Whether a name in a kind's file stands for this tool.
#[must_use]
pub fn names(pattern: &str, tool: &str) -> bool {
    let of_server =
        |server: &str| tool == server || tool.strip_prefix(server).is_some_and(|rest| rest.starts_with("__"));
    (pattern == "mcp" && tool.contains("__"))
        || pattern.strip_prefix("mcp__").is_some_and(of_server)
        || fits(pattern, tool)
}

/// Whether a text is as a pattern says, from its beginning to its end.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut seen) = (0, 0);
    // Where the last `*` stands, and how far it reaches.
    let mut star: Option<(usize, usize)> = None;
    while seen < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(&one) if one == '?' || one == text[seen] => {
                at += 1;
                seen += 1;
            }
            // It reaches one character further.
            _ => match &mut star {
                Some((after, reach)) => {
                    *reach += 1;
                    (at, seen) = (*after + 1, *reach);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|&rest| rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_the_whole_text() {
        for (pattern, text) in [
            ("*", ""),
            ("bank__*", "bank__pay"),
            ("*@example.com", "ann@example.com"),
            ("a*b*c", "aXbbYc"),
            ("?ü", "aü"),
            ("**a", "ba"),
            ("", ""),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("bank", "bank__pay"),
            ("*@example.com", "ann@example.com.evil"),
            ("?", ""),
            ("a*b", "acc"),
            ("", "a"),
        ] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn tools_of_servers_have_names_for_all_of_them() {
        assert!(names("mcp", "bank__pay") && !names("mcp", "read_file"));
        assert!(names("mcp__bank", "bank__pay") && !names("mcp__bank", "bank2__pay"));
        assert!(names("mcp__bank__pay", "bank__pay") && names("read_*", "read_file"));
    }
}
