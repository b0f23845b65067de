// Not yet compiled on Apple's platforms.
#if canImport(SwiftUI)
    import SwiftUI

    @main struct Main: SwiftUI.App {
        var body: some Scene { WindowGroup { IconList(apps: App.bundled()) } }
    }
#else
    @main enum Main {
        static func main() {
            print("This example needs SwiftUI. Build it on one of Apple's platforms.")
        }
    }
#endif
