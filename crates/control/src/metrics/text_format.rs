//! The older text format of Prometheus (version 0.0.4), for scrapers that do not ask for OpenMetrics.
//!
//! For the kinds of metrics that are served here, the two formats differ as follows: in the older one, a counter's
//! family carries the suffix `_total`, quotation marks in a help text are not escaped, and there are no units and no
//! end mark.

/// Turns a page of OpenMetrics into the text format.
pub fn from_open_metrics(page: &str) -> String {
    let mut counters = Vec::new();
    for line in page.lines() {
        let mut words = line.split(' ');
        if let (Some("#"), Some("TYPE"), Some(name), Some("counter")) =
            (words.next(), words.next(), words.next(), words.next())
        {
            counters.push(name);
        }
    }
    let mut text = String::with_capacity(page.len() + counters.len() * 16);
    for line in page.lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("EOF" | "UNIT"), _, _) => continue,
            (Some("#"), Some(keyword @ ("HELP" | "TYPE")), Some(name), rest) => {
                let suffix = if counters.contains(&name) { "_total" } else { "" };
                let rest = rest.unwrap_or_default().replace("\\\"", "\"");
                text.push_str(&format!("# {keyword} {name}{suffix} {rest}"));
            }
            _ => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_of_counters_get_their_suffix_and_the_end_mark_goes() {
        let page = "# HELP lm_x Number of \\\"x\\\".\n# TYPE lm_x counter\nlm_x_total{a=\"\\\"b\\\"\"} 1\n\
                    # HELP lm_y Bytes.\n# TYPE lm_y gauge\n# UNIT lm_y bytes\nlm_y 2\n# EOF\n";
        let text = "# HELP lm_x_total Number of \"x\".\n# TYPE lm_x_total counter\nlm_x_total{a=\"\\\"b\\\"\"} 1\n\
                    # HELP lm_y Bytes.\n# TYPE lm_y gauge\nlm_y 2\n";
        assert_eq!(from_open_metrics(page), text);
    }
}
