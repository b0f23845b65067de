import ArgumentParser
import Foundation
import LarderPresentation

/// Whether text for people is coloured.
struct ColorOptions: ParsableArguments {
    enum Choice: String, ExpressibleByArgument, CaseIterable {
        case auto, always, never
    }

    @Option(
        help: ArgumentHelp(
            """
            Colour what failed, is stale or is clean. With auto, on a terminal, unless NO_COLOR is \
            set; CLICOLOR_FORCE colours always. (default: auto)
            """, valueName: "auto|always|never"))
    var color: Choice?

    /// What colours text on standard output.
    var output: Paint { paint(STDOUT_FILENO) }

    /// What colours text on standard error.
    var errors: Paint { paint(STDERR_FILENO) }

    private func paint(_ descriptor: Int32) -> Paint {
        switch color ?? .auto {
        case .always: Paint(isOn: true)
        case .never: .none
        case .auto: Paint(isOn: Terminal.wantsColor(isatty(descriptor) == 1))
        }
    }
}
