import { gauge, histogram } from './metric.js';

const CALL_SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** Of `gwk api`: the public listener and the internal one. */
export const API_METRICS = {
  httpDuration: histogram({
    name: 'gwk_http_request_duration_seconds',
    help: 'Requests to the public listener until their answer begins, by operation and status; 499: the client had gone by then.',
    labelNames: ['operation', 'status'],
    buckets: CALL_SECONDS,
  }),
  httpInFlight: gauge({
    name: 'gwk_http_requests_in_flight',
    help: 'Requests being answered now.',
  }),
  internalDuration: histogram({
    name: 'gwk_internal_call_duration_seconds',
    help: 'Calls of engines and of the operator to the internal listener, by route and status; 499: the connection ended before the whole answer.',
    labelNames: ['route', 'status'],
    buckets: CALL_SECONDS,
  }),
} as const;
