import { RbacAuthorizationV1Api } from '@kubernetes/client-node';
import { PATCH, type KubeClient } from '@gwk/core/kubernetes/client';
import type { Logger } from '@gwk/core/log';
import { FINALIZER } from '@gwk/core/resources/manifest';
import { FIELD_MANAGERS } from './names.js';

export interface NamespaceUse {
  /** Whether the namespace has Instances. */
  used: boolean;
  /** Whether one of them is being deleted. */
  leaving: boolean;
}

interface NamespaceRightsOptions {
  client: KubeClient;
  log: Logger;
  /** Name of the operator's Role and RoleBinding in each namespace. */
  name: string;
  namespaces: string[];
  /** Null: not known yet. */
  readUse: (namespace: string) => NamespaceUse | null;
}

const CHECK_MS = 1_000;
const RETRY_MS = 60_000;

/**
 * Keeps the operator's Role and RoleBinding in a namespace while it has Instances, by a finalizer. A deleted namespace
 * deletes both at once. Without them the operator could not release the Instances, and the namespace would never end.
 *
 * An operator that stops removes these finalizers, so that `helm uninstall` does not wait for them.
 */
export class NamespaceRights {
  readonly #options: NamespaceRightsOptions;
  readonly #rbac: RbacAuthorizationV1Api;
  readonly #kept = new Map<string, boolean>();
  readonly #retryAt = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | null = null;

  constructor(options: NamespaceRightsOptions) {
    this.#options = options;
    this.#rbac = options.client.makeApiClient(RbacAuthorizationV1Api);
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#checking ??= this.#check().finally(() => (this.#checking = null));
    }, CHECK_MS);
  }

  /** Keeps the rights in namespaces whose Instances are being deleted: the next operator needs them. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#checking;
    for (const [namespace, kept] of this.#kept) {
      const isLeaving = this.#options.readUse(namespace)?.leaving ?? false;
      if (kept && !isLeaving) await this.#write(namespace, false);
    }
  }

  async #check(): Promise<void> {
    for (const namespace of this.#options.namespaces) {
      const use = this.#options.readUse(namespace);
      if (!use || use.used === this.#kept.get(namespace)) continue;
      if ((this.#retryAt.get(namespace) ?? 0) <= Date.now()) await this.#write(namespace, use.used);
    }
  }

  async #write(namespace: string, keep: boolean): Promise<void> {
    const { name, log } = this.#options;
    const apiVersion = 'rbac.authorization.k8s.io/v1';
    const metadata = { name, ...(keep && { finalizers: [FINALIZER] }) };
    const target = { name, namespace, fieldManager: FIELD_MANAGERS.resource, force: true };
    const role = { apiVersion, kind: 'Role', metadata };
    const binding = { apiVersion, kind: 'RoleBinding', metadata };
    try {
      await this.#rbac.patchNamespacedRole({ ...target, body: role }, PATCH.apply);
      await this.#rbac.patchNamespacedRoleBinding({ ...target, body: binding }, PATCH.apply);
      this.#kept.set(namespace, keep);
    } catch (error) {
      // No right to protect them, roles of other names, or a namespace that is already gone.
      log.info({ namespace, keep, err: error }, 'finalizers of the Role and RoleBinding not changed');
      this.#retryAt.set(namespace, Date.now() + RETRY_MS);
    }
  }
}
