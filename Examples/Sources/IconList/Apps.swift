import Foundation

/// An entry of the manifest `apps.json` in the app's bundle.
struct App: Decodable, Hashable {
    let name: String
    let icon: URL

    static func bundled() -> [App] {
        guard let file = Bundle.main.url(forResource: "apps", withExtension: "json"),
            let data = try? Data(contentsOf: file)
        else { return [] }
        return (try? JSONDecoder().decode([App].self, from: data)) ?? []
    }
}
