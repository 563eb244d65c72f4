import { writeFileSync } from 'node:fs';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeServerCertificate } from '@gwk/operator/secrets/certificate';
import { pickPort } from '../../support/ports.js';
import { openStage, type Stage } from '../../support/gateway/stage.js';

export interface CrowdStage {
  stage: Stage;
  ports: { public: number; internal: number; metrics: number };
  close(): Promise<void>;
}

/** A gateway with TLS on the internal API, and metrics and probes of the API on a port of their own. */
export async function openCrowdStage(): Promise<CrowdStage> {
  const folder = mkdtempSync(join(tmpdir(), 'gwk-crowd-'));
  const certificate = await makeServerCertificate(['localhost']);
  const file = (name: keyof typeof certificate): string => {
    const path = join(folder, name);
    writeFileSync(path, certificate[name]);
    return path;
  };
  const [internal, metrics] = [await pickPort(), await pickPort()];
  const stage = await openStage('crowd', {
    settings: {
      api: {
        GWK_API_METRICS_PORT: String(metrics),
        GWK_API_INTERNAL_PORT: String(internal),
        GWK_API_INTERNAL_TLS_CERT_FILE: file('cert'),
        GWK_API_INTERNAL_TLS_KEY_FILE: file('key'),
      },
      operator: {
        GWK_OPERATOR_INTERNAL_URL: `https://localhost:${internal}`,
        GWK_OPERATOR_INTERNAL_CA_FILE: file('ca'),
      },
    },
  });
  return {
    stage,
    ports: { public: Number(new URL(stage.gateway.urls[0]!).port), internal, metrics },
    close: async () => {
      await stage.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
