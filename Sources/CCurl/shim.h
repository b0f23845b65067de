#ifndef LARDER_CCURL_SHIM_H
#define LARDER_CCURL_SHIM_H

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/socket.h>

// Swift cannot call variadic C functions, so each argument type has a wrapper.

static inline CURLcode larder_easy_set_long(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode larder_easy_set_string(CURL *handle, CURLoption option, const char *value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode larder_easy_set_pointer(CURL *handle, CURLoption option, void *value) {
  return curl_easy_setopt(handle, option, value);
}

// The type of CURLOPT_WRITEFUNCTION, CURLOPT_HEADERFUNCTION and CURLOPT_READFUNCTION callbacks.
typedef size_t (*larder_data_callback)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode larder_easy_set_data_callback(CURL *handle, CURLoption option,
                                                     larder_data_callback callback) {
  return curl_easy_setopt(handle, option, callback);
}

static inline CURLcode larder_easy_set_open_socket_callback(CURL *handle,
                                                            curl_opensocket_callback callback) {
  return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, callback);
}

static inline CURLcode larder_easy_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode larder_easy_set_seek_callback(CURL *handle, curl_seek_callback callback) {
  return curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, callback);
}

// Swift does not import macros that contain casts.
static const unsigned long larder_basic_authentication = CURLAUTH_BASIC;

// Swift does not import the macro CURLVERSION_NOW.
static inline curl_version_info_data *larder_version_info(void) {
  return curl_version_info(CURLVERSION_NOW);
}

static inline CURLcode larder_easy_set_close_socket_callback(CURL *handle,
                                                             curl_closesocket_callback callback) {
  return curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, callback);
}

static inline CURLcode larder_easy_set_prerequest_callback(CURL *handle,
                                                           curl_prereq_callback callback) {
  return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, callback);
}

static inline CURLcode larder_easy_get_long(CURL *handle, CURLINFO info, long *value) {
  return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode larder_easy_get_offset(CURL *handle, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode larder_easy_get_pointer(CURL *handle, CURLINFO info, void **value) {
  return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode larder_easy_get_list(CURL *handle, CURLINFO info,
                                            struct curl_slist **value) {
  return curl_easy_getinfo(handle, info, value);
}

// Returns NULL if libcurl cannot allocate the share.
static inline CURLSH *larder_share_sessions(void) {
  CURLSH *share = curl_share_init();
  if (share &&
      curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION) != CURLSHE_OK) {
    curl_share_cleanup(share);
    return NULL;
  }
  return share;
}

static inline CURLMcode larder_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

// Reads the union in CURLMsg, which has a result for CURLMSG_DONE only.
static inline CURLcode larder_message_result(const CURLMsg *message) {
  return message->data.result;
}

// `addr` is declared as a 16-byte sockaddr but holds `addrlen` bytes (28 for IPv6), so a copy would
// be truncated.
static inline const struct sockaddr *larder_sockaddr(const struct curl_sockaddr *address) {
  return &address->addr;
}

// Returns a socket that child processes do not inherit, or -1 and sets errno.
static inline int larder_open_socket(const struct curl_sockaddr *address) {
#ifdef SOCK_CLOEXEC
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
#else
  int descriptor = socket(address->family, address->socktype, address->protocol);
  if (descriptor >= 0) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return descriptor;
#endif
}

#endif
