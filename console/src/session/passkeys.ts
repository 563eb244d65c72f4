import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import { getClient, takeData } from '../api/client';
import { openSession, type Session } from './session-api';

const client = getClient(null);
const ADDRESS = /^[\d.]+$|^\[/;

/** Passkeys belong to a host name. Browsers refuse them for addresses, and without HTTPS except on localhost. */
export const canUsePasskeys = (): boolean =>
  window.isSecureContext && 'PublicKeyCredential' in window && !ADDRESS.test(location.hostname);

const loadLibrary = () => import('@simplewebauthn/browser');

async function answer(options: unknown) {
  const { startAuthentication } = await loadLibrary();
  const optionsJSON = options as PublicKeyCredentialRequestOptionsJSON;
  return { credential: await startAuthentication({ optionsJSON }) };
}

/** Signs in by a passkey alone. */
export async function signInByPasskey(): Promise<Session> {
  const options = await takeData(client.POST('/console/api/session/passkey/options'));
  const body = await answer(options);
  return openSession(takeData(client.POST('/console/api/session/passkey', { body })));
}

/** Completes a sign-in that was answered with `mfa-required`. */
export async function confirmPasskey(): Promise<Session> {
  const options = await takeData(client.POST('/console/api/session/second-factor/options'));
  const body = await answer(options);
  return openSession(takeData(client.POST('/console/api/session/second-factor', { body })));
}

/** Adds a passkey to the signed-in person. @param password null: the person has none */
export async function addPasskey(name: string, password: string | null): Promise<void> {
  const options = await takeData(
    client.POST('/console/api/profile/passkeys/options', { body: { password } }),
  );
  const { startRegistration } = await loadLibrary();
  const optionsJSON = options as unknown as PublicKeyCredentialCreationOptionsJSON;
  const { response, ...credential } = await startRegistration({ optionsJSON });
  const body = { name, credential: { ...credential, response: { transports: [], ...response } } };
  await client.POST('/console/api/profile/passkeys', { body });
}
