import { counter, gauge, histogram } from './metric.js';

const CALL_SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** Metrics of `gwk api`: its public and its internal listener. */
export const API_METRICS = {
  httpDuration: histogram(
    'gwk_http_request_duration_seconds',
    'Time from a request to the public listener to the start of the response, by operation and status. 499: the client disconnected first.',
    CALL_SECONDS,
    ['operation', 'status'],
  ),
  httpInFlight: gauge('gwk_http_requests_in_flight', 'Requests in progress.'),
  internalDuration: histogram(
    'gwk_internal_call_duration_seconds',
    'Duration of calls from engines and the operator to the internal API, by route and status. 101: a WebSocket for calls opened. 499: the connection closed before the response was complete.',
    CALL_SECONDS,
    ['route', 'status'],
  ),
  transfers: gauge(
    'gwk_media_transfers',
    'Files in transfer: downloads by link, uploads, and the files of engines.',
    ['kind'],
  ),
  transfersLimited: counter(
    'gwk_media_transfers_limited_total',
    'File transfers refused or ended by a limit: by the bound of a file, address, account, instance or the process, or by the minimum rate.',
    ['kind', 'limit'],
  ),
} as const;
