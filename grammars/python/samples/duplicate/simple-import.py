import os
import sys
import sys

print(os, sys)
