#ifndef LARDER_CXML2_SHIM_H
#define LARDER_CXML2_SHIM_H

// libxml2's ICU declarations contradict those of Foundation's own ICU; none are used here.
#include <libxml/xmlversion.h>
#undef LIBXML_ICU_ENABLED

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <libxml/xmlerror.h>
#include <libxml/xmlreader.h>
#include <stdio.h>

/// The first error that ended a document; `level` is XML_ERR_NONE until then.
typedef struct {
    int level;
    int code;
    int line;
    char message[256];
    xmlStructuredErrorFunc outer_handler;
    void *outer_context;
} larder_xml_problem;

// The handler's second parameter became const in 2.12.
#if LIBXML_VERSION >= 21200
static void larder_xml_note(void *context, const xmlError *error) {
#else
static void larder_xml_note(void *context, xmlError *error) {
#endif
    larder_xml_problem *problem = (larder_xml_problem *)context;
    if (problem->level == XML_ERR_FATAL || error->level < XML_ERR_FATAL) return;
    problem->level = error->level;
    problem->code = error->code;
    problem->line = error->line;
    snprintf(problem->message, sizeof problem->message, "%s", error->message ? error->message : "");
}

/// Lets the thread note its first fatal error in `problem`, and print none. That is where libxml2
/// reports what it finds outside of any reader or before there is one, as about encodings.
static inline void larder_xml_collect(larder_xml_problem *problem) {
    problem->outer_handler = xmlStructuredError;
    problem->outer_context = xmlStructuredErrorContext;
    xmlSetStructuredErrorFunc(problem, larder_xml_note);
}

/// Lets the reader note its errors there, too.
static inline void larder_xml_collect_from(xmlTextReaderPtr reader, larder_xml_problem *problem) {
    xmlTextReaderSetStructuredErrorHandler(reader, larder_xml_note, problem);
}

/// Gives the thread its handler back.
static inline void larder_xml_stop_collecting(larder_xml_problem *problem) {
    xmlSetStructuredErrorFunc(problem->outer_context, problem->outer_handler);
}

/// The words of a noted error.
static inline const char *larder_xml_message(const larder_xml_problem *problem) {
    return problem->message;
}

/// The line of the node that the reader stands on. libxml2 keeps 16 bits of an element's line;
/// beyond that it is right for text alone, and 0 is returned for the rest.
static inline long larder_xml_line(xmlTextReaderPtr reader) {
    xmlNodePtr node = xmlTextReaderCurrentNode(reader);
    if (node == NULL) return 0;
    if (node->type == XML_TEXT_NODE) return xmlGetLineNo(node);
    return node->line < 65535 ? node->line : 0;
}

#endif
