"""The one way out: everything that leaves over HTTP stands on this room, from the bottom up.

pages                                 sources · embedders (chat models bring a client of their own)
  │                                     │
fetch    robots, limits, redirects    service    patience, limits, the service's words as errors
  │                                     │   │
  │                                     │   └── payload (foreign JSON, complaints)
transport                             transport
  cache ─► guarded network              cache ─► keys ─► network, proxies
  │                                     │
guard    what strangers may name      address    what the operator configured; who we are; is it this machine; one page or two
"""
