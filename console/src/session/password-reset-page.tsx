import { Alert, Anchor, Button, PasswordInput, Stack, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { getClient } from '../api/client';
import { ProblemAlert } from '../ui/problem-alert';
import { isProblem } from './code-form';
import { EntryLayout } from './entry-layout';
import { useSetSession } from './session';

const client = getClient(null);

/** Sets a new password by the one-time token in the fragment of the address, which browsers send to no server. */
export default function PasswordResetPage() {
  const { t } = useTranslation();
  const setSession = useSetSession();
  const [token] = useState(() => new URLSearchParams(location.hash.slice(1)).get('token') ?? '');
  const [password, setPassword] = useState('');
  const attempt = useMutation({
    mutationFn: () => client.POST('/console/api/password-resets/redeem', { body: { token, password } }),
    // All sessions have ended, also that of this browser.
    onSuccess: () => setSession(null),
  });
  useEffect(() => history.replaceState(history.state, '', location.pathname), []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    attempt.mutate();
  };
  return (
    <EntryLayout>
      <Title order={1} size="h2">
        {t('passwordReset.newTitle')}
      </Title>
      {attempt.isSuccess ? (
        <>
          <Alert color="teal" title={t('passwordReset.doneTitle')} role="status">
            {t('passwordReset.doneText')}
          </Alert>
          <Button component={Link} to="/">
            {t('signIn.submit')}
          </Button>
        </>
      ) : (
        <form onSubmit={submit}>
          <Stack>
            <PasswordInput
              label={t('passwordReset.newPassword')}
              description={t('profile.nextHelp')}
              autoComplete="new-password"
              required
              autoFocus
              minLength={12}
              value={password}
              onChange={(event) => setPassword(event.currentTarget.value)}
            />
            <ProblemAlert error={attempt.error} />
            {isProblem(attempt.error, 'handoff-invalid') && (
              <Anchor component={Link} to="/forgot-password" size="sm">
                {t('passwordReset.again')}
              </Anchor>
            )}
            <Button type="submit" loading={attempt.isPending} fullWidth>
              {t('passwordReset.set')}
            </Button>
          </Stack>
        </form>
      )}
    </EntryLayout>
  );
}
