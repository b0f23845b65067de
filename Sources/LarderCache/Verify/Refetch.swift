extension VerifyReport {
    /// What fetching a URL again came to.
    public struct Refetch: Sendable {
        /// What became of it.
        public enum Outcome: String, Sendable, CaseIterable {
            /// It has the same bytes as before.
            case fetched
            /// It has other bytes by now.
            case changed
            /// It could not be fetched.
            case failed
        }

        /// The URL, or the key it is looked up by.
        public let key: String
        /// What became of it.
        public let outcome: Outcome
        /// The digest of its bytes; nil if it failed.
        public let digest: Digest?
        /// Why it failed: a code and a reason.
        public let problem: (code: String, message: String)?

        package init(
            key: String, outcome: Outcome, digest: Digest? = nil,
            problem: (code: String, message: String)? = nil
        ) {
            self.key = key
            self.outcome = outcome
            self.digest = digest
            self.problem = problem
        }
    }
}
