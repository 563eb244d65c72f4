import type { Clock } from '@gwk/core/clock';
import { API_METRICS } from '@gwk/core/metrics/api';
import { MEGABYTE } from '@gwk/core/resources/media';
import { Counter, type Registry } from 'prom-client';
import type { ApiConfig } from '../../http/services.js';
import { observedGauge } from '../../platform/metrics/gauge.js';
import { Transfers, type Bounds } from './transfers.js';

declare module '../../http/services.js' {
  interface Services {
    transfers: MediaTransfers;
  }
}

type TransferKind = 'download' | 'upload' | 'engine_download' | 'engine_upload';

/** The transfers of media files in an API process. */
export type MediaTransfers = Readonly<Record<TransferKind, Transfers>>;

type Limits = Pick<ApiConfig, 'maxDownloads' | 'maxUploads' | 'mediaMaxMb'>;

const GIB = 1024 ** 3;
/** An engine transfers two files at once (core/src/protocol/internal-client.ts), and so may its former pod. */
const ENGINE_TRANSFERS = 4;
const ALL_ENGINES_TRANSFERS = 1_000;

/**
 * No file, address or account can occupy a whole process. Unfinished uploads occupy disk. Engines have bounds of their own,
 * so that no client delays the files of messages.
 */
export function decideBounds({ maxDownloads, maxUploads, mediaMaxMb }: Limits): Record<TransferKind, Bounds> {
  // Two of the largest files of an account.
  const accountBytes = Math.max(GIB / 4, 2 * mediaMaxMb * MEGABYTE);
  const bytes = 4 * accountBytes;
  const engines = { instance: { transfers: ENGINE_TRANSFERS } };
  return {
    download: {
      file: { transfers: Math.floor(maxDownloads / 20) },
      address: { transfers: Math.floor(maxDownloads / 10) },
      account: { transfers: Math.floor(maxDownloads / 4) },
      process: { transfers: maxDownloads },
    },
    upload: {
      account: { transfers: Math.floor(maxUploads / 4), bytes: accountBytes },
      process: { transfers: maxUploads, bytes },
    },
    engine_download: { ...engines, process: { transfers: ALL_ENGINES_TRANSFERS } },
    engine_upload: { ...engines, process: { transfers: ALL_ENGINES_TRANSFERS, bytes } },
  };
}

export function openTransfers(limits: Limits, clock: Clock, registry: Registry): MediaTransfers {
  const limited = new Counter({ ...API_METRICS.transfersLimited, registers: [registry] });
  const open = ([kind, bounds]: [string, Bounds]) => {
    const limits = [...Object.keys(bounds), 'rate'];
    for (const limit of limits) limited.inc({ kind, limit }, 0);
    return [kind, new Transfers(bounds, clock, (limit) => limited.inc({ kind, limit }))] as const;
  };
  const transfers = Object.fromEntries(Object.entries(decideBounds(limits)).map(open));
  observedGauge(registry, API_METRICS.transfers, () =>
    Object.fromEntries(Object.entries(transfers).map(([kind, { size }]) => [kind, size])),
  );
  return transfers as Record<TransferKind, Transfers>;
}
