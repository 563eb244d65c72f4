import { Button, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { ProblemAlert } from '../ui/problem-alert';
import { CodeForm, isProblem } from './code-form';
import { EntryLayout } from './entry-layout';
import { useSetSession } from './session';
import { signIn } from './session-api';

/** Asks for e-mail and password, then for the code if the user has a second factor. */
export function SignInPage() {
  const { t } = useTranslation();
  const setSession = useSetSession();
  const [step, setStep] = useState<'password' | 'code'>('password');
  return (
    <EntryLayout>
      <Title order={1} size="h2">
        {t(step === 'password' ? 'signIn.title' : 'signIn.codeTitle')}
      </Title>
      {step === 'password' ? (
        <PasswordForm askForCode={() => setStep('code')} />
      ) : (
        <CodeForm done={setSession} back={() => setStep('password')} />
      )}
    </EntryLayout>
  );
}

function PasswordForm({ askForCode }: { askForCode: () => void }) {
  const { t } = useTranslation();
  const setSession = useSetSession();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const attempt = useMutation({
    mutationFn: () => signIn(email.trim(), password),
    onSuccess: setSession,
    onError: (error) => {
      if (isProblem(error, 'mfa-required')) askForCode();
    },
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
        <Text size="sm" c="dimmed">
          {t('signIn.help')}
        </Text>
      </Stack>
    </form>
  );
}
