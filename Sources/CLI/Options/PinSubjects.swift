import ArgumentParser
import LarderTransfer

/// What `pin` and `unpin` are about: icons' URLs, and manifests.
struct PinSubjects: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "An icon's http or https URL, or a manifest's file (- for standard input), which stands for all of its icons.",
            valueName: "url|manifest"))
    var subjects: [String] = []

    @OptionGroup(title: "Reading manifests") var reading: ReadingOptions

    func validate() throws {
        if subjects.filter({ $0 == "-" }).count > 1 {
            throw ValidationError("Standard input can be read only once.")
        }
    }

    /// Hands over the keys of all subjects.
    func forEachKey(_ body: (String) throws -> Void) throws {
        for subject in subjects { try forEachKey(of: subject, body) }
    }

    func forEachKey(of subject: String, _ body: (String) throws -> Void) throws {
        guard LocalManifests.isURL(subject) else {
            let manifest = try LocalManifests([subject], rules: try reading.rules)
            return try manifest.forEachKey(body)
        }
        guard let url = try? HTTPURL(subject) else {
            throw ValidationError("An icon's URL cannot be read as one.")
        }
        try body(url.string)
    }
}
