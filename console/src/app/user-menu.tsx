import { ActionIcon, Menu, Text } from '@mantine/core';
import { IconLogout, IconUser } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useSession, useSetSession } from '../session/session';
import { signOut } from '../session/session-api';

export function UserMenu({ account }: { account: string | undefined }) {
  const { t } = useTranslation();
  const { user } = useSession();
  const setSession = useSetSession();
  const leave = useMutation({ mutationFn: signOut, onSuccess: () => setSession(null) });
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="default" size="lg" aria-label={t('shell.user')}>
          <IconUser size={18} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown maw={300}>
        <Menu.Label>
          <Text size="sm" truncate>
            {user.name}
          </Text>
          <Text size="xs" truncate>
            {user.email}
          </Text>
        </Menu.Label>
        <Menu.Divider />
        {(account !== undefined || user.is_platform_admin) && (
          <Menu.Item
            component={Link}
            to={`/${account ?? 'platform'}/profile`}
            leftSection={<IconUser size={16} />}
          >
            {t('shell.profile')}
          </Menu.Item>
        )}
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => leave.mutate()}>
          {t('shell.signOut')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
