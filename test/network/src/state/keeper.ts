import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { World } from '../world.js';
import { fromText, takeSnapshot, toText, type Snapshot } from './snapshot.js';

const WAIT_MS = 300;

/** Saves the network to a file whenever it changes. */
export class Keeper {
  #timer?: NodeJS.Timeout;
  readonly #changed = () => {
    if (!this.#timer) this.#timer = setTimeout(() => this.save(), WAIT_MS).unref();
  };

  constructor(
    private readonly world: World,
    private readonly file: string,
  ) {
    world.changes.on('change', this.#changed);
  }

  /** Saves a last time. */
  end(): void {
    this.world.changes.off('change', this.#changed);
    this.save();
  }

  /** Replaces the file atomically. */
  save(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    mkdirSync(dirname(this.file), { recursive: true });
    const fresh = `${this.file}.new`;
    writeFileSync(fresh, toText(takeSnapshot(this.world)), { mode: 0o600 });
    renameSync(fresh, this.file);
  }

  static read(file: string): Snapshot | undefined {
    return existsSync(file) ? fromText(readFileSync(file, 'utf8')) : undefined;
  }
}
