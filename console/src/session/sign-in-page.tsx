import { Button, Loader, PasswordInput, Stack, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { ProblemAlert } from '../ui/problem-alert';
import type { Factors } from '../api/problem';
import { CodeForm, findFactors } from './code-form';
import { EntryLayout } from './entry-layout';
import { Forgotten } from './forgotten';
import { PasskeyButton } from './passkey-button';
import { signInByPasskey } from './passkeys';
import { useSignInMethods } from './provider';
import { ProviderButton } from './provider-button';
import { useSetSession } from './session';
import { signIn } from './session-api';

/** Asks for e-mail and password, a passkey or the provider, then for the second factor if the user has one. */
export function SignInPage() {
  const { t } = useTranslation();
  const setSession = useSetSession();
  /** Second factors of the person whose password was right. */
  const [factors, setFactors] = useState<Factors | null>(null);
  const { data: methods, isPending } = useSignInMethods();
  // Without an answer the password remains, whose error says why.
  const { password = true, passkey = true, provider = null } = methods ?? {};
  return (
    <EntryLayout>
      <Title order={1} size="h2">
        {t(factors ? 'signIn.codeTitle' : 'signIn.title')}
      </Title>
      {factors ? (
        <CodeForm factors={factors} done={setSession} back={() => setFactors(null)} />
      ) : (
        <>
          {isPending && <Loader role="img" aria-label={t('common.loading')} />}
          {!isPending && password && <PasswordForm askForFactor={setFactors} />}
          {provider && <ProviderButton name={provider.name} isOnly={!password} />}
          {!isPending && passkey && (
            <PasskeyButton label={t('passkeys.signIn')} use={signInByPasskey} done={setSession} />
          )}
        </>
      )}
    </EntryLayout>
  );
}

function PasswordForm({ askForFactor }: { askForFactor: (factors: Factors | null) => void }) {
  const { t } = useTranslation();
  const setSession = useSetSession();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const attempt = useMutation({
    mutationFn: () => signIn(email.trim(), password),
    onSuccess: setSession,
    onError: (error) => askForFactor(findFactors(error)),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    attempt.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={t('signIn.email')}
          type="email"
          name="email"
          autoComplete="username"
          required
          autoFocus
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <PasswordInput
          label={t('signIn.password')}
          name="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        <ProblemAlert error={attempt.error} />
        <Button type="submit" loading={attempt.isPending} fullWidth>
          {t('signIn.submit')}
        </Button>
        <Forgotten />
      </Stack>
    </form>
  );
}
