#[cfg(test)]
mod tests {
    #[test]
    fn one() {}
}

#[cfg(test)]
mod tests {
    #[test]
    fn two() {}
}
