import ArgumentParser
import Foundation
import LarderCache
import LarderKit
import LarderTransfer

/// What `pin` and `unpin` are about: icons' URLs, and manifests.
struct PinSubjects: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            """
            An icon's http or https URL; key:NAME for an icon with that key in its manifest; or a \
            manifest file (- for standard input), for all of its icons.
            """, valueName: "url|key|manifest"))
    var subjects: [String] = []

    func validate() throws {
        if subjects.filter({ $0 == "-" }).count > 1 {
            throw ValidationError("Standard input can be read only once.")
        }
    }

    /// Hands over the keys of all subjects. What is neither a URL nor a file is a manifest's key
    /// if the cache knows it.
    func forEachKey(
        in cache: Cache, rules: ManifestRules, _ body: (String) throws -> Void
    ) throws {
        for subject in subjects {
            let key = String.spelled(subject)
            let isFile = subject == "-" || access(subject, F_OK) == 0
            if ResourceKey.isSpelledOut(subject) {
                try body(key)
            } else if !isFile, !LocalManifests.isURL(subject),
                try cache.resource(key) != nil || cache.isPinned(key)
            {
                try body(key)
            } else {
                try forEachKey(of: subject, rules, body)
            }
        }
    }

    private func forEachKey(
        of subject: String, _ rules: ManifestRules, _ body: (String) throws -> Void
    ) throws {
        guard LocalManifests.isURL(subject) else {
            let manifest = try LocalManifests([subject], rules: rules, cache: nil)
            return try manifest.forEachKey(body)
        }
        guard let url = try? HTTPURL(subject) else {
            throw ValidationError("An icon's URL cannot be read as one.")
        }
        try body(url.key)
    }
}
