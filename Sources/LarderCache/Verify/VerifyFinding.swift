extension VerifyReport {
    /// What is wrong, or merely noticed, about one subject.
    public struct Finding: Sendable {
        /// The name of what was found.
        public enum Kind: String, Sendable, CaseIterable {
            /// The file's bytes do not have the digest that is its name.
            case corrupt
            /// The index has an object whose file is not there, or a manifest names what is not
            /// cached.
            case missing
            /// The file could not be read: that says nothing about its bytes.
            case unreadable
            /// A symbolic link in the place of an object that the index has; never followed.
            case link
            /// The index itself is damaged.
            case index
            /// Something else than a directory in the place of a directory of objects: none can be
            /// stored there.
            case obstructed
            /// An object that no row mentions: left by a crash, to be swept by eviction.
            case orphaned
            /// An object's name in another object's directory.
            case misplaced
            /// Something in the tree that is not the cache's own. A repair leaves it, but for a
            /// directory by an object's name, in whose place the object could not be stored.
            case foreign
            /// A whole object that is not read-only for everyone (0444): copying may do that.
            case mode

            /// Whether the cache is not intact with it. The others are only reported.
            public var isCorruption: Bool {
                switch self {
                case .corrupt, .missing, .unreadable, .link, .index, .obstructed: true
                case .orphaned, .misplaced, .foreign, .mode: false
                }
            }
        }

        /// What a repair came to.
        public enum Repair: String, Sendable, CaseIterable {
            /// It is as it should be, with the same bytes.
            case restored
            /// What was fetched again has other bytes by now.
            case changed
            /// It was taken away, and no URL needs it.
            case removed
            /// It was taken away, and its URLs could not all be fetched again. The index keeps
            /// those as damaged, so that the next repair or prefetch asks for them.
            case lost
        }

        /// The name of what was found.
        public let kind: Kind
        /// The file's path beneath the root, or the place of a manifest's entry.
        public let subject: String
        /// What exactly is the matter.
        public let message: String
        /// The object concerned, if it is one.
        public let digest: Digest?
        /// The URLs that resolve to the object.
        public package(set) var urls: [String]
        /// What a repair came to; nil if there was none.
        public package(set) var repair: Repair?
        /// Where the file is now, if it was moved to `quarantine/`: its path beneath the root.
        public package(set) var quarantine: String?

        package init(
            _ kind: Kind, _ subject: String, _ message: String, digest: Digest? = nil,
            urls: [String] = []
        ) {
            self.kind = kind
            self.subject = subject
            self.message = message
            self.digest = digest
            self.urls = urls
        }
    }
}

extension VerifyReport.Finding {
    /// Damaged resources of an object that were not fetched again yet.
    package init(damaged digest: Digest?, urls: [String]) {
        self.init(
            .missing, digest.map(CacheLayout.path) ?? CacheLayout.index,
            "was damaged, and is not fetched again yet", digest: digest, urls: urls)
    }
}
