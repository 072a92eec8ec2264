# For NMAKE.
!INCLUDE <win32.mak>
!IF "$(CFG)" == ""
CFG = Release
!MESSAGE No configuration was given.
!ENDIF

{..\src}.c{$(OUT)}.obj:
    $(cc) /c $<

all: $(OUT)\a.exe
    @type << > a.rsp
any text (
<<
