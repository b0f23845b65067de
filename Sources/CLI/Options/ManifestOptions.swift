import ArgumentParser
import LarderKit
import LarderTransfer

/// Which manifests, for `prefetch` and `plan`.
struct ManifestOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "XML or binary plist, JSON or JSON Lines; - is standard input.", valueName: "manifest"))
    var manifests: [String]

    @Option(help: ArgumentHelp("What relative icon URLs are resolved against.", valueName: "url"))
    var baseURL: String?

    @Flag(help: "Accept bodies that are no images.")
    var anyContent = false

    var sources: [ManifestSource] {
        manifests.map { $0 == "-" ? .standardInput : .file($0) }
    }

    func validate() throws {
        if manifests.isEmpty { throw ValidationError("Name at least one manifest.") }
        if manifests.filter({ $0 == "-" }).count > 1 {
            throw ValidationError("Standard input can be read only once.")
        }
        _ = try base
    }

    var base: HTTPURL? {
        get throws {
            guard let baseURL else { return nil }
            do {
                return try HTTPURL(baseURL)
            } catch {
                throw ValidationError("--base-url is not an absolute http or https URL: \(error)")
            }
        }
    }
}
